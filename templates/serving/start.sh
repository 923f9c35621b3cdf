#!/bin/sh
# What a node of sparkrig-serve runs in its container: an engine alone, or its part of one on several nodes.
#
#   start.sh vllm serve MODEL ...    the same words on every node; what makes a node a part comes from here
#
#   SPARKRIG_ENGINE    vllm (without it), sglang or llama.cpp
#   SPARKRIG_FORM      solo, ray, standing (on a Ray cluster that is there), or multinode (vLLM's own, without Ray)
#   SPARKRIG_PORT      where the API is to answer
#   SPARKRIG_NODES     how many nodes there are; this one and the next three are not asked for where solo
#   SPARKRIG_RANK      0 on the head, which answers the API; 1 and so on elsewhere
#   SPARKRIG_HEAD      address of the head, of Ray's where standing, of the network that the nodes are to use
#   SPARKRIG_ADDRESS   address of this node in that network
#   SPARKRIG_WAIT      seconds that nodes wait for each other (600)
#   RAY_AUTH_TOKEN     what nodes of Ray show each other; without it, whoever reaches them may join
#
# It tells how far it is on lines of standard output; sparkrig/serving/startup.py reads them:
#   sparkrig: phase NAME TIME DETAIL     start, head-up, formed, server, ready, answered
#   sparkrig: trouble CAUSE TIME DETAIL  before it ends with 1, or where what comes is likely to hang
set -eu

RAY_PORT=6379
MASTER_PORT=29501

say() { # phase|trouble NAME DETAIL...
  word=$1 what=$2
  shift 2
  echo "sparkrig: $word $what $(date -u +%Y-%m-%dT%H:%M:%SZ) $*"
}

fail() { # CAUSE DETAIL...
  say trouble "$@"
  exit 1
}

# What the shell has no word for, in the Python that vLLM runs on; the first argument names the function.
python() {
  python3 -u -c "$PROGRAM" "$@"
}

PROGRAM='
import json, os, socket, sys, time, urllib.error, urllib.request


def say(word, name, detail):
    print("sparkrig:", word, name, time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), detail)


def source(head):
    """Print the address from which this node would speak to the head; nothing leaves it for that."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((head, 9))
        print(probe.getsockname()[0])


def own(address, seconds):
    """Wait until the address is of this node: a link whose other end has no power has none."""
    end = time.monotonic() + float(seconds)
    while True:
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                return probe.bind((address, 0))
        except OSError as error:
            if time.monotonic() > end:
                sys.exit(str(error))
        time.sleep(1)


def name():
    """Print what the name of this node leads to on it."""
    try:
        print(socket.gethostname() + "=" + socket.gethostbyname(socket.gethostname()))
    except OSError:
        print(socket.gethostname() + "=unknown")


def listens(address, port, seconds):
    """Wait until something listens there."""
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        try:
            socket.create_connection((address, int(port)), timeout=3).close()
            return
        except OSError as error:
            why = error.strerror or str(error)
        time.sleep(0.5)
    sys.exit(why)


def formed(address, wanted, seconds, gpus):
    """Wait until a task ran on that many nodes of the Ray cluster; print how each does whenever that changes.

    That Ray calls a node alive is not enough: it takes a minute to notice that it cannot reach one. Of so many GPUs
    each is to be free, too: vLLM ends at once where the one beside it is taken.
    """
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    def nothing():
        pass

    ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    task = ray.remote(num_cpus=0, max_retries=0)(nothing)
    end, asked, working, before = time.monotonic() + float(seconds), {}, set(), None
    while True:
        nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
        for node in nodes.keys() - asked.keys():
            here = NodeAffinitySchedulingStrategy(node, soft=False)
            asked[node] = task.options(scheduling_strategy=here).remote()
        done, _ = ray.wait([*asked.values()], num_returns=len(asked), timeout=0.5)
        for node in [node for node in asked if asked[node] in done and node not in working]:
            try:
                ray.get(asked[node])
                working.add(node)
            except RayError:  # it will be asked again, if it lives
                del asked[node]
        works = {at for node, at in nodes.items() if node in working}
        silent = {*nodes.values()} - works
        state = ", ".join([at + " works" for at in sorted(works)] + [at + " is silent" for at in sorted(silent)])
        free = int(ray.available_resources().get("GPU", 0))
        if free < int(gpus):
            state += ", %d of %s GPUs are free" % (free, gpus)
        if state != before:
            print("sparkrig: nodes", len(works), "of", wanted + ":", state)
        before = state
        if len(works) >= int(wanted) and free >= int(gpus):
            return
        if time.monotonic() > end:
            cause = "not-formed" if len(works) < int(wanted) else "placement"
            say("trouble", cause, "after " + seconds + " s Ray has " + state)
            sys.exit(1)


def answers(port, server):
    """Wait until the API is up, then for one token of it, as long as the server lives, its parent."""
    key = os.environ.get("VLLM_API_KEY")
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + key} if key else {})}
    hosts = ["127.0.0.1", os.environ.get("SPARKRIG_ADDRESS") or "127.0.0.1"]

    def ask(host, path, body=None):
        data = body and json.dumps(body).encode()
        request = urllib.request.Request("http://%s:%s%s" % (host, port, path), data, headers)
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=300) as answer:
            return answer.read()

    def up():
        for host in hosts:
            try:
                ask(host, "/health")
                return host
            except OSError:
                continue

    host = None
    while not host:
        time.sleep(0.5)
        if os.getppid() != int(server):
            return
        host = up()
    say("phase", "ready", "")
    try:
        model = json.loads(ask(host, "/v1/models"))["data"][0]["id"]
        try:
            ask(host, "/v1/completions", {"model": model, "prompt": "1", "max_tokens": 1})
        except urllib.error.HTTPError as error:
            if error.code not in (400, 404, 501):  # of a model that embeds or ranks, and generates nothing
                raise
        say("phase", "answered", "model=" + model)
    except (OSError, ValueError, LookupError) as error:
        say("trouble", "no-answer", repr(error))


globals()[sys.argv[1]](*sys.argv[2:])
'

form=${SPARKRIG_FORM:?solo, ray, standing or multinode is expected}
port=${SPARKRIG_PORT:?a port is expected}
rank=0
if [ "$form" != solo ]; then
  rank=${SPARKRIG_RANK:?0 or more is expected} nodes=${SPARKRIG_NODES:?2 or more is expected}
  head=${SPARKRIG_HEAD:?an address is expected} address=${SPARKRIG_ADDRESS:?an address is expected}
  patience=${SPARKRIG_WAIT:-600}
  name=$(python name)
  say phase start "form=$form rank=$rank nodes=$nodes head=$head address=$address name=$name"

  python own "$address" "$patience" 2>/dev/null || fail address "$address is of no interface of this node"
  source=$(python source "$head" 2>/dev/null) || fail route "there is no way to $head"
  case $address in
    127.*) fail loopback "$address is loopback, which no other node reaches" ;;
    "$source") ;;
    *) say trouble interface "this node speaks to $head from $source, not from $address" ;;
  esac
  gloo=${GLOO_SOCKET_IFNAME:-}
  if [ -z "$gloo" ]; then
    case $name in *=127.*) say trouble name "GLOO_SOCKET_IFNAME is not set, and ${name%%=*} is ${name#*=} here" ;; esac
  elif [ ! -e "/sys/class/net/${gloo%%,*}" ]; then
    say trouble interface "GLOO_SOCKET_IFNAME is $gloo, which this node has not"
  fi
  # vLLM would guess it by the way to the internet, and Ray by the node's name.
  export VLLM_HOST_IP="$address" RAY_NODE_IP_ADDRESS="$address"
else
  say phase start "form=solo"
fi

# The same as `answers`, for an image without Python: an image of llama.cpp has curl [@llama-image].
answers_by_curl() { # PORT SERVER
  until curl -s -f -o /dev/null -m 300 --noproxy '*' "http://127.0.0.1:$1/health"; do
    kill -0 "$2" 2>/dev/null || return 0
    sleep 1
  done
  say phase ready ""
  # the key in no argument: ps shows them
  code=$({ if [ -n "${VLLM_API_KEY:-}" ]; then printf 'header = "Authorization: Bearer %s"\n' "$VLLM_API_KEY"; fi; } |
    curl -K - -s -o /dev/null -w '%{http_code}' -m 300 --noproxy '*' -H 'Content-Type: application/json' \
      -d '{"prompt": "1", "max_tokens": 1}' "http://127.0.0.1:$1/v1/completions") || :
  case $code in
    2?? | 400 | 404 | 501) say phase answered "model=unknown" ;; # the last three as `answers` has them
    *) say trouble no-answer "HTTP status ${code:-000}" ;;
  esac
}

begin() { # WORDS...: become the server
  if [ "$rank" != 0 ]; then
    :
  elif command -v python3 >/dev/null; then
    python3 -u -c "$PROGRAM" answers "$port" $$ &
  elif command -v curl >/dev/null; then
    answers_by_curl "$port" $$ &
  fi
  say phase server "$1" # its arguments may hold a key
  exec "$@"
}

engine=${SPARKRIG_ENGINE:-vllm}
if [ "$engine" = llama.cpp ]; then
  PATH=$PATH:/app # where its images have the server [@llama-image]
  if [ -n "${VLLM_API_KEY:-}" ]; then export LLAMA_API_KEY="$VLLM_API_KEY"; fi
fi

case $form in
  solo)
    begin "$@" --port "$port"
    ;;

  ray | standing)
    command -v ray >/dev/null || fail no-ray "this image has no ray"
    # Ray 2.61 asks for a token by default, and 2.51 and earlier cannot: said here, it is the same in all.
    if [ -n "${RAY_AUTH_TOKEN:-}" ]; then export RAY_AUTH_MODE=token; else export RAY_AUTH_MODE=disabled; fi
    # Its monitor takes page cache for pressure, and its defaults keep 30 % of the memory and a worker for each core.
    export RAY_memory_monitor_refresh_ms="${RAY_memory_monitor_refresh_ms:-0}"
    part="--node-ip-address=$address --num-cpus=2 --object-store-memory=1073741824 --disable-usage-stats"
    if [ "$rank$form" = 0ray ]; then
      # shellcheck disable=SC2086  # a list of words
      ray start --head --port="$RAY_PORT" --include-dashboard=false $part
    else
      why=$(python listens "$head" "$RAY_PORT" "$patience" 2>&1) ||
        fail no-head "nothing answered at $head:$RAY_PORT within $patience s ($why)"
    fi
    say phase head-up "$head:$RAY_PORT"
    # shellcheck disable=SC2086
    if [ "$rank" != 0 ]; then exec ray start --address="$head:$RAY_PORT" $part --block; fi
    gpus=0
    if [ "$form" = standing ]; then gpus=$nodes; fi
    python formed "$head:$RAY_PORT" "$nodes" "$patience" "$gpus" || exit 1
    say phase formed "nodes=$nodes"
    # vLLM hands the head's NCCL settings to all nodes; interfaces and devices may have other names there.
    config=${VLLM_CONFIG_ROOT:-${XDG_CONFIG_HOME:-${HOME:-/root}/.config}/vllm}
    mkdir -p "$config"
    env | sed -n 's/^\(\(NCCL\|UCX\)_[A-Za-z0-9_]*\)=.*/"\1"/p' | paste -sd, - | sed 's/.*/[&]/' \
      >"$config/ray_non_carry_over_env_vars.json"
    export RAY_ADDRESS="$head:$RAY_PORT" # or vLLM would begin a cluster of its own
    begin "$@" --port "$port" --distributed-executor-backend ray
    ;;

  multinode)
    if [ "$engine" = sglang ]; then # its other nodes have a port, too, and answer /health there
      begin "$@" --nnodes "$nodes" --node-rank "$rank" --dist-init-addr "$head:$MASTER_PORT" --port "$port"
    fi
    set -- "$@" --nnodes "$nodes" --node-rank "$rank" --master-addr "$head" --master-port "$MASTER_PORT" \
      --distributed-executor-backend mp
    if [ "$rank" = 0 ]; then begin "$@" --port "$port"; else begin "$@" --headless; fi
    ;;

  *)
    fail form "SPARKRIG_FORM is $form, and solo, ray, standing or multinode was expected"
    ;;
esac
