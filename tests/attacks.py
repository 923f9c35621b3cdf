# ruff: noqa: E501 - lines are as they were published
"""Lines in which tools, kernels and services name what identifies an owner, each as somebody published one.

«KIND» in a line stands for a made-up value; no two lines share one, so none is found because another line told of
it. What a line looks like is from the recording that its group names: real lines, without the values of their
owners. A group without a name is of the tool's own manual or source.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

LINES: Mapping[str, tuple[str, ...]] = {
    # suse.com/support/kb/doc/?id=000020830; github.com/risuorg/risu/issues/626
    "file servers of NFS": (
        "nfs: server «name» not responding, still trying",
        "nfs: server nas.«name».lan not responding, timed out",
        "nfs: server «name»-nas OK",
        "lockd: server «name».«name».de not responding, still trying",
        "NFS: state manager: lease expired failed on NFSv4 server «name» with error 10018",
        "NFS: nfs4_discover_server_trunking unhandled error -512. Exiting with error EIO, server «name»",
        "mount.nfs: access denied by server while mounting «name»:/volume1/«name»",
        "mount.nfs4: Failed to resolve server «name»: Name or service not known",
        "«name»:/volume1/«name»/models on /mnt/«name» type nfs4 (rw,relatime,vers=4.2,addr=192.168.1.5)",
        "«name»:/export/«name»  /mnt/models  nfs  rw,hard,proto=rdma,port=20049  0 0",
        "[fd12:3456:789a::5]:/export/«name» /srv nfs4 defaults 0 0",
        "«name».«name».lan:/tank/«name»   3.6T  1.2T  2.4T  34% /mnt/«name»/models",
        "192.168.1.5:/volume1/«name»   3.6T  1.2T  2.4T  34% /net/«name»",
        "rpcrdma: connection to nas-«name»:20049 closed (-103)",
        "BOOT_IMAGE=/vmlinuz root=/dev/nfs nfsroot=«name»:/srv/«name»,vers=3 ip=dhcp",
        "systemd[1]: mnt-«name».mount: Mount process exited, code=exited, status=32/n/a",
        "systemd[1]: Failed to mount mnt-«name»\\x2dmodels.mount - /mnt/«name»-models.",
        "automount[812]: attempting to mount entry /net/«name»",
    ),
    # github.com/motioneye-project/motioneye/issues/1947, 8devices/carambola2/issues/21; patches on linux-cifs
    "file servers of SMB": (
        "CIFS: VFS: \\\\«name» has not responded in 180 seconds. Reconnecting...",
        "CIFS: VFS: \\\\nas\\«name» BAD_NETWORK_NAME",
        "CIFS VFS: BAD_NETWORK_NAME: \\\\192.168.1.2\\«name»",
        "CIFS: VFS: \\\\«name».lan Error -32 sending data on socket to server",
        "CIFS: Attempting to mount //«name»/«name»",
        "mount -v -t cifs //192.168.4.102/«name» /share -o user=«name»,password=«secret»",
        "//«name».lan/«name»\\040Photos /mnt/photos cifs credentials=/etc/«name».cred,uid=1000 0 0",
        "//nas/«name» on /mnt/nas type cifs (rw,vers=3.1.1,username=«name»,domain=«name»,addr=192.168.1.2)",
        "//«name»/backup  7.3T  1.1T  6.2T  16% /mnt/backup",
        "mount error(113): could not connect to 192.168.1.9Unable to find suitable address for «name».",
        "gvfsd: smb://«name»/«name»/files",
        "smbclient: Connection to «name» failed (Error NT_STATUS_UNSUCCESSFUL)",
        "   workgroup = «name»",
    ),
    # github.com/democratic-csi/democratic-csi/issues/353, iscsi-osx/iSCSIInitiator/issues/19, open-iscsi/issues/74
    "file servers of other kinds": (
        "/dev/disk/by-path/ip-«name».storage.tdude.co:3260-iscsi-iqn.2005-10.org.freenas.ctl:«name»-lun-0",
        "iscsid: Login to <iqn.2015-01.net.42:«name»,10.51.1.99:3260 interface default> failed",
        "iscsid: connect to [iface: default, target: iqn.1992-08.com.netapp:sn.«name», portal: «name»,3260]",
        "InitiatorName=iqn.2004-10.com.ubuntu:01:«hex12»",
        'nvme nvme1: new ctrl: NQN "nqn.2014-08.org.nvmexpress:uuid:«uuid»", addr 192.168.1.5:4420',
        "nvme0: NQN nqn.2014.08.org.nvmexpress:144d144d«serial»   Samsung SSD",
        "«name»@«name»:/data on /mnt/data type fuse.sshfs (rw,nosuid,nodev,user_id=0,group_id=0)",
        "sshfs#«name»@«name».lan:backups /mnt/backups fuse defaults 0 0",
        "ceph: mds0 mon1.«name».lan:6789 session established",
        "«name»:/gv0 /mnt/gv0 glusterfs defaults,_netdev 0 0",
        "LABEL=«name» /data ext4 defaults 0 2",
        "/dev/disk/by-label/«name»",
        "davfs: https://cloud.«name».de/remote.php/dav/files/«name»/",
    ),
    # github.com/moby/moby/pull/26115, classicswarm/pull/2169, docker/for-mac/issues/5021, distribution/issues/3162
    "docker": (
        " Registry Mirrors:\n  https://mirror.«name».lan/\n  http://«name»:5000/",
        " Insecure Registries:\n  «name»:5000\n  «name».home.arpa\n  ::1/128\n  127.0.0.0/8",
        " HTTP Proxy: http://«name»:«secret»@proxy.«name».lan:3128",
        " HTTPS Proxy: http://«name»:3128",
        " No Proxy: localhost,127.0.0.1,.«name».lan,«name»",
        " Name: «name»\n ID: IM2I:YVN5:XM64:O3US:QKAG:V2KY:P75A:RDCV:XQHR:G52M:ILCT:7WYX",
        " Labels:\n  owner=«name»\n  com.site=«name»",
        " Swarm: active\n  NodeID: «swarm»\n  ClusterID: «swarm»\n  Node Address: 84.17.22.77",
        '{"registry-mirrors": ["https://«name».lan", "http://«name»:5000"], "insecure-registries": ["«name»", "«name»:80"]}',
        '{"dns-search": ["«name».lan"], "labels": ["owner=«name»"], "proxies": {"no-proxy": "«name»,.«name».lan"}}',
        "registry.«name».lan:5000/«name»/vllm:latest   3f4c2a1b9d8e   2 weeks ago   23GB",
        "«name»:5000/vllm   latest   3f4c2a1b9d8e   2 weeks ago   23GB",
        "image: registry.«name»/vllm/vllm-openai:v0.11",
        'msg="Attempting next endpoint for pull after error: Get \\"https://«name»:5000/v2/\\": dial tcp: lookup «name» on 192.168.1.1:53: no such host"',
        'time="2026-05-14T10:00:00Z" level=info msg="Node «swarm»/192.168.1.5, joined gossip cluster" node.id=«swarm»',
        'msg="trying next host" error="failed to do request: Head \\"https://«name»/v2/x/manifests/1\\": EOF" host=«name»',
        "HTTP_PROXY=http://«name»:8080 no_proxy=.«name».lan,«name»",
        '{"auths": {"registry.«name».lan": {"auth": "«secret»"}, "«name»:5000": {"identitytoken": "«secret»"}}}',
    ),
    # github.com/RinCat/RTL88x2BU-Linux-Driver/issues/59, home-assistant/supervisor/issues/3999,
    # canonical/cloud-init/issues/3926, brektrou/rtl8821CU/issues/112
    "Wi-Fi in NetworkManager's journal": (
        "<info>  [1606879518.7360] device (wlp5s0u2): Activation: starting connection '«ssid»' («uuid»)",
        "<info>  [1.2] device (wlp5s0u2): Activation: starting connection '«ssid_s»' («uuid»)",
        "<info>  [1.2] device (wlan0): Activation: starting connection '«ssid» ' («uuid»)",
        "<info>  [1.2] device (wlP9s9): Activation: (wifi) connection '«ssid»' has security, and secrets exist.",
        "<info>  [1.2] device (wlP9s9): Activation: (wifi) connection '«ssid_s»' requires no security.",
        "<info>  [1.2] device (wlP9s9): Activation: (wifi) access point '«ssid»' has security, but secrets are required.",
        "<info>  [1.2] Config: added 'ssid' value '«ssid»'",
        "<info>  [1.2] Config: added 'ssid' value '«ssid_u»'",
        "<info>  [1.2] Config: added 'ssid' value '«ssid_s»'",
        '<info>  [1.2] audit: op="connection-delete" uuid="«uuid»" name="«ssid»" pid=2101 uid=0 result="success"',
        '<info>  [1.2] audit: op="connection-add-activate" uuid="«uuid»" name="«ssid_s» " pid=2145 uid=0',
        '<info>  [1.2] audit: op="connection-delete" uuid="«uuid»" name="netplan-wlan0-«ssid»" pid=2101 uid=0',
        "<info>  [1.2] policy: auto-activating connection '«ssid»' («uuid»)",
        "<info>  [1.2] policy: set '«ssid»' (wlP9s9) as default for IPv4 routing and DNS",
        "<info>  [1.2] policy: set '«ssid_s»' (wlP9s9) as default for IPv6 routing and DNS",
        '<info>  [1.2] device (wlP9s9): Activation: (wifi) Stage 2 of 5 (Device Configure) successful. Connected to wireless network "«ssid»"',
        "<warn>  [1.2] device (wlP9s9): Activation: failed for connection '«ssid»'",
        "<info>  [1.2] keyfile: add connection /run/NetworkManager/system-connections/netplan-wlP9s9-«ssid».nmconnection",
        '<info>  [1.2] settings-connection[0x55d,«uuid»,"«ssid»"]: autoconnect blocked',
        '<info>  [1.2] keyfile: load: "/etc/NetworkManager/system-connections/«ssid_s».nmconnection": failed to load',
        '<info>  [1.2] vpn[0x55d,«uuid»,"«ssid»"]: starting openvpn',
        '<info>  [1.2] vpn-connection[0x55d,«uuid»,"«ssid_u»",0]: VPN connection: (ConnectInteractive) reply received',
        "<info>  [1.2] agent-manager: agent: request for '«ssid»'/802-11-wireless-security",
        "GENERAL.TYPE:                           wifi\nGENERAL.HWADDR:                         «mac»\nGENERAL.CONNECTION:                     «ssid»",
        "NAME  UUID  TYPE  DEVICE\n«ssid»  «uuid»  wifi      wlP9s9",
        "DEVICE   TYPE      STATE      CONNECTION\nwlP9s9   wifi      connected  «ssid»",
        "wlP9s9: connected to «ssid»",
    ),
    # github.com/raspberrypi/linux/issues/3318, victronenergy/venus/issues/776, espressif/esp-hosted/issues/679,
    # openwrt/openwrt/issues/13449
    "Wi-Fi in other journals": (
        'wlan0: CTRL-EVENT-SSID-TEMP-DISABLED id=0 ssid="«ssid»" auth_failures=2 duration=20 reason=CONN_FAILED',
        'wlan0: CTRL-EVENT-SSID-REENABLED id=0 ssid="«ssid_x»"',
        "wlan0: Trying to associate with SSID '«ssid_s»'",
        "wlan0: Trying to associate with «mac» (SSID='«ssid»' freq=2412 MHz)",
        "wlan0: SME: Trying to authenticate with «mac» (SSID='«ssid_s»' freq=5785 MHz)",
        "wlan0: Trying to associate with «mac» (SSID='«ssid_x»' freq=2412 MHz)",
        "wlan0:    selected BSS «mac» ssid='«ssid»'",
        "wlan0: 0: «mac» ssid='«ssid_s»' wpa_ie_len=0 rsn_ie_len=20 caps=0x1031 level=-48 freq=2462",
        "SSID - hexdump_ascii(len=12):\n     «ssid_dump»",
        "ssid=«ssid_hex»",
        "[/net/connman/iwd/0/3/«ssid_hex»_psk] event: state, old: disconnected, new: autoconnect_quick",
        "\tSSID: «ssid_x»",
        "\tssid «ssid»",
        "Wi-Fi network '«ssid»' is weak",
        'wlan0     IEEE 802.11  ESSID:"«ssid»"',
        'netplan: wifis: wlP9s9: access-points: {"«ssid»": {"password": "«secret»"}}',
        "BSS «mac»(on wlan0) -- associated",
    ),
    # github.com/exo-explore/exo/issues/1682 (spark-7af6); GitHub search for the others: promaxgb10-..., aitopatom-...,
    # thinkstationpgx-..., edgexpert-..., gx10-..., zgx-...
    "makers' host names": (
        "«user»@spark-«hex4»:~/exo$ git describe --tags",
        "«user»@aitopatom-«hex4»: neighbours",
        "seen aitopatom-«hex4» on enp1s0f0np0",
        "AITOPATOM-«HEX4» offline",
        "aitop-atom-«hex4»",
        "promaxgb10-«hex4» worker 10.99.0.2",
        "PROMAXGB10-«HEX4»._ssh._tcp.local",
        "http://promaxgb10-«hex4»:9000/v1",
        "thinkstationpgx-«hex4».tailccac79.ts.net",
        "hl@thinkstationpgx-«hex4»",
        "gx10-«hex4» in LLDP, edgexpert-«hex4»[22]",
        "zgx-«hex4» zgx-nano-«hex4» gn100-«hex4» pgx-«hex4»",
        "NODES=(edgexpert-«hex4» aitopatom-«hex4»)",
        "spark_«hex4»_default spark\\x2d«hex4».mount spark%2d«hex4»",
        "avahi-daemon[700]: Host name conflict, retrying with spark-«hex4»-2",
        "name wrapped by a terminal: aitopatom-\n«hex4»",
        "mirror of gx10-«hex4»a1b2c3d4 by its serial",
        "dgx-spark-«hex4», gb10-«hex4», veriton-gn100-«hex4»",
    ),
    # Blackwellboy/model-serving-minefield and github.com/vllm-project issues show such commands
    "secrets in lists": (
        'Cmd: ["vllm", "serve", "x", "--api-key", "«secret»"]',
        "Cmd: ['vllm', 'serve', 'x', '--api-key', '«secret»']",
        "command: [vllm, serve, --api-key, «secret»]",
        "command:\n  - vllm\n  - --api-key\n  - «secret»\n  - --port",
        'command:\n  - "--hf-token"\n  - "«secret»"',
        '"Args": [\n  "--api-key",\n  "«secret»"\n]',
        "ExecStart=/usr/bin/vllm serve x --hf-token «secret»",
        "ExecStart=/usr/bin/vllm serve x --api-key=«secret» --port 8000",
        "docker run -e HF_TOKEN=«secret» -e LICENSE_KEY=«secret» image",
        '"Env": ["HF_TOKEN=«secret»", "MY_SIGNING_KEY=«secret»", "PATH=/usr/bin"]',
        'api_keys: ["«secret»", "«secret»"]',
        "api_keys:\n  - «secret»\n  - «secret»\nport: 8000",
        '"apiKeys": [\n  "«secret»",\n  "«secret»"\n]',
        "VLLM_API_KEYS=«secret»,«secret»",
        "tokens = ['«secret»', '«secret»']",
        "argv ['/usr/bin/x', '--password', '«secret»']",
        "vllm\0serve\0--api-key\0«secret»\0--port\0008000",
        '--header "X-Api-Key: «secret»" --header "Authorization: Bearer «secret»"',
        "sshpass -p «secret» ssh x",
        "machine x login «user» password «secret»",
        "GET /v1/models?api_key=«secret»&x=1 HTTP/1.1",
        "https://s3.amazonaws.com/x?X-Amz-Credential=«secret»&X-Amz-Signature=«secret»",
        "redis://:«secret»@localhost:6379/0",
        "secret: «secret»",
        "auth: «secret»",
        "HUGGING_FACE_HUB_TOKEN: «secret»",
        "found key gsk_«secret» or r8_«secret» or dckr_pat_«secret» or pypi-«secret» or npm_«secret»",
        "wandb login «secret»",
        "https://login.tailscale.com/a/«secret»",
        "nodekey:«hex64» discokey:«hex64»",
        "AGE-SECRET-KEY-1QQQQ«SECRET»",
        "-----BEGIN OpenVPN Static key V1-----\n«hex32»\n«hex32»\n-----END OpenVPN Static key V1-----",
        "Private-Lines: 2\n«blob64»\n«secret»==\nPrivate-MAC: «hex32»",
    ),
    "hardware": (
        "mac=«hex12» hwaddr «hex12»",
        'bdaddr: "«hex12»"',
        "sys_image_guid: «guid»",
        "Node GUID: 0x«hex16»",
        "port_guid «hex16»",
        "dhcp4 (eth0): IAID 0x«hex8»",
        "DUID: DUID-EN/Vendor:0000ab11«hex16»",
        "duid «hex28»",
        "option dhcp6.client-id 0:1:0:1:2a:bb:cc:dd:«shortmac»;",
        "UUID=«FAT» /boot/efi vfat umask=0077 0 1",
        "/dev/disk/by-uuid/«FAT» PARTUUID=«hex8»-01",
        "nvme-Samsung_SSD_990_PRO_2TB_«serial»-part1",
        "usb-SanDisk_Ultra_«serial»-0:0 ata-WDC_WD40_«serial»",
        "usb 1-1: SerialNumber: «serial»",
        "serial «serial», S/N «serial», serial# «serial»",
        "Service Tag: «serial» Express Service Code: 12345678«digits»",
        "ID: «docker_id»",
        "zerotier-one[1]: 200 join network «hex16» as «hex10»",
        "3: zt5u4«zt»: <BROADCAST,MULTICAST,UP>",
        "Device «mac» «ssid_s»",
        "input: «ssid» Keyboard as /devices/virtual/misc/uhid/0005:05AC:0267.0001/input/input21",
        "fe80::«iid» dev enP7s7 lladdr «mac» STALE",
        "fd«ula»::42/64 and fd«ula»::/48",
    ),
    "names of people and networks": (
        "Author: «Name» «Name» <x@«name».de>",
        "bob.«name»%40mail.«name».de",
        "«name»@ linux active; 100.64.1.2 spark «name»@ linux",
        "New session 3 of user «name».",
        "Accepted password for «name» from 10.0.0.9 port 50000 ssh2",
        "Disconnected from user «name» 10.0.0.9 port 50000",
        "Connection closed by authenticating user «name» 10.0.0.9 port 5 [preauth]",
        "«name»:x:1000:1000:«Name» «Name»,,,:/home/x:/bin/bash",
        "uid=1000(«name») gid=1000(«name») groups=1000(«name»),27(sudo)",
        "-rw-r--r-- 1 «name» «name» 12 Nov 22 10:00 notes.txt",
        "drwxr-xr-x+ 2 root «name» 4096 Nov 22 10:00 .",
        "-home-«name»-spark, home-«name».mount, %2Fhome%2F«name»%2Fx, C:\\Users\\«name»\\x",
        "syncthing@«name».service wg-quick@«name».service",
        "/var/spool/cron/crontabs/«name»",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI«blob43» «name»s box",
        "«name».«name».lan,192.168.1.5 ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI«blob43»",
        "[«name»]:2222 ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAB«blob43»",
        "nameserver 127.0.0.53\nsearch «name».lan «name»",
        "Search Domains: «name».intra",
        "DNS Domain: ~«name»",
        "IP4.DOMAIN[1]:                          «name»home",
        "IP4.SEARCHES[1]: «name».corp",
        "DHCP4.OPTION[2]:                        domain_name = «name»",
        "dhcp4 (eth0): option host_name => '«name»'",
        "dhcp4 (eth0):   option domain_name          => '«name»'",
        "dhcp4 (eth0): option wpad => 'http://«name»/wpad.dat'",
        "NTP=ntp.«name».lan «name»",
        "Contacted time server 192.168.1.1:123 (ntp.«name».de).",
        "server «name» iburst",
        "SysName:      sw-«name».lan\nSysDescr: x",
        "    SysName:      «name»",
        '"lldp-system-name": "«name»"',
        "«name»s\\032NAS._smb._tcp.local",
        "systemd.hostname=«name» ip=::::«name»:eth0:dhcp",
        "subject=C = DE, O = «name», CN = nas.«name».lan",
        "Set hostname to <«name»>.",
        'hostname: hostname changed from "«name»" to "«name»-x"',
        "curl: (6) Could not resolve host: «name»",
        "ssh: connect to host «name» port 22: Connection refused",
        "xn--«name»-kva.«name».de resolves",
        "p54a1b2c3.dip0.«name».de is the peer",
        "ip-84-17-22-99.«name».internal",
        "84.17.23.99-51820 is the endpoint",
        "http://«name»:3000/d/x https://git.«name».de/«name»/spark.git",
        "git@«name»:«name»/private.git",
        "MAIL FROM:<«name»@«name».org>",
        "(«name») CMD (run-parts)",
        "user_name=«name», owner: «name», login=«name»",
        "Match originalhost «name»",
        "Host «name»\n  HostName 192.168.1.5\n  User «name»",
    ),
}


@dataclass(frozen=True)
class Planted:
    """A line with made-up values, and the words that must not be left of it."""

    group: str
    line: str
    words: tuple[str, ...]


def _digits(seed: str, alphabet: str, size: int) -> str:
    raw = b"".join(hashlib.sha256(f"{seed}/{turn}".encode()).digest() for turn in range(size // 32 + 1))
    return "".join(alphabet[each % len(alphabet)] for each in raw[:size])


_HEX, _MIXED = "0123456789abcdef", "abcdefghjkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


def _name(seed: str) -> str:
    """A word that can be spoken, is in no language, and is no hex."""
    return "".join(
        f"{one}{other}"
        for one, other in zip(_digits(seed, "gklmrtvz", 4), _digits(f"{seed}.", "ouiy", 4), strict=True)
    )


def _ssid(seed: str, between: str = " ") -> tuple[str, tuple[str, ...]]:
    one, other = _name(f"{seed}1").capitalize(), _name(f"{seed}2").capitalize()
    return f"{one}{between}{other}", (one, other)


def _plain(made: Callable[[str], str]) -> Callable[[str], tuple[str, tuple[str, ...]]]:
    def both(seed: str) -> tuple[str, tuple[str, ...]]:
        value = made(seed)
        return value, (value,)

    return both


def _hex(size: int) -> Callable[[str], tuple[str, tuple[str, ...]]]:
    return _plain(lambda seed: "a4" + _digits(seed, _HEX, size - 3) + "7")


def _pairs(seed: str) -> str:
    return ":".join(re.findall("..", "a4" + _digits(seed, _HEX, 10)))


def _bytes_of(seed: str, form: Callable[[bytes], str]) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed)
    written = form(value.encode())
    return written, (written, *words)


def _escaped(seed: str) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed, "\\xc3\\xb6 ")
    return value, words


def _wide(seed: str) -> tuple[str, tuple[str, ...]]:
    value, words = _ssid(seed, "ö ")
    return value, words


VALUES: Mapping[str, Callable[[str], tuple[str, tuple[str, ...]]]] = {
    "name": _plain(_name),
    "user": _plain(_name),
    "Name": _plain(lambda seed: _name(seed).capitalize()),
    "ssid": _ssid,
    "ssid_s": lambda seed: _ssid(seed, "'s "),
    "ssid_u": _wide,
    "ssid_x": _escaped,
    "ssid_hex": lambda seed: _bytes_of(seed, bytes.hex),
    "ssid_dump": lambda seed: _bytes_of(seed, lambda raw: f"{raw.hex(' ')}   {raw.decode()}"),
    "secret": _plain(lambda seed: _digits(seed, _MIXED, 16)),
    "SECRET": _plain(lambda seed: _digits(seed, _MIXED, 40).upper()),
    "swarm": _plain(lambda seed: _digits(seed, "abcdefghijkmnopqrstuvwxyz23456789", 25)),
    "hex4": lambda seed: (value := _digits(seed, _HEX, 4), (f"-{value}", f"_{value}", f"2d{value}")),
    "HEX4": lambda seed: (value := _digits(seed, _HEX, 4).upper(), (f"-{value}",)),
    **{f"hex{size}": _hex(size) for size in (8, 10, 12, 16, 28, 32, 64)},
    "guid": _plain(lambda seed: ":".join(re.findall("....", "a4" + _digits(seed, _HEX, 14)))),
    "iid": _plain(lambda seed: ":".join(re.findall("....", "a4" + _digits(seed, "3456789abcd", 14)))),
    "ula": lambda seed: (value := f"3{_digits(seed, '3456789', 1)}:" + ":".join(
        re.findall("....", _digits(seed, "3456789abcd", 8))), (value,)),
    "mac": _plain(_pairs),
    "shortmac": _plain(lambda seed: ":".join(part.lstrip("0") or "0" for part in _pairs(seed).split(":"))),
    "uuid": _plain(lambda seed: re.sub("(.{8})(.{4})(.{4})(.{4})(.{12})", r"\1-\2-\3-\4-\5", _digits(seed, _HEX, 32))),
    "serial": _plain(lambda seed: "S6Z" + _digits(seed, "ABCDEFGHJKLMNPRSTUVWXYZ123456789", 10) + "4"),
    "digits": _plain(lambda seed: _digits(seed, "123456789", 8)),
    "FAT": _plain(lambda seed: re.sub("(....)", r"\1-", _digits(seed, _HEX, 8).upper(), count=1)),
    "docker_id": _plain(
        lambda seed: ":".join(re.findall("....", _digits(seed, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 48)))
    ),
    "zt": _plain(lambda seed: _digits(seed, "abcdefgh2345", 6)),
    "blob43": _plain(lambda seed: _digits(seed, _MIXED, 43)),
    "blob64": _plain(lambda seed: _digits(seed, _MIXED, 64)),
}  # fmt: skip


def planted(lines: Mapping[str, Iterable[str]] = LINES) -> list[Planted]:
    """Each line with values of its own."""
    made = []
    for group, of_group in lines.items():
        for line in of_group:
            words: list[str] = []

            def put(found: re.Match[str], line: str = line, words: list[str] = words) -> str:
                value, canaries = VALUES[found[1]](f"{line}{found.start()}")
                words.extend(canaries)
                return value

            made.append(Planted(group, re.sub("«(\\w+)»", put, line), ()))
            made[-1] = Planted(group, made[-1].line, tuple(words))
    return made


SURROUNDINGS: Mapping[str, Callable[[str], str]] = {
    "alone": lambda line: line,
    "in a journal": lambda line: f"2026-11-22T10:15:00+0000 mlx5[12]: {line}",
    "indented": lambda line: "\n".join(f"\t  {each}" for each in line.split("\n")),
    "in JSON": lambda line: json.dumps({"why": line}),
    "in JSON, not in ASCII": lambda line: json.dumps({"why": line}, ensure_ascii=False),
    "in JSON in JSON": lambda line: json.dumps({"why": json.dumps([line])}),
    "in base64": lambda line: base64.b64encode(f"{line}\n".encode()).decode(),
    "in base64 of 76 columns": lambda line: base64.encodebytes(
        f"one line of a text, then\n{line}\n".encode()
    ).decode(),
    "with lines of DOS": lambda line: f"{line}\n".replace("\n", "\r\n"),
}
