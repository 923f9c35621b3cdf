"""Scripts as people publish them: variables, arrays, functions, branches, here-documents, containers in use."""

from __future__ import annotations

from typing import Any

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Launch, Unreadable
from tests.tables import each_row


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


def test_each_way_to_give_a_variable_its_value() -> None:
    def holds(text: str, flags: dict[str, Any]) -> None:
        found = one(text)
        assert (found.model, found.flags) == ("Q/M", flags)

    each_row(
        [
            ("readonly M='Q/M'\nvllm serve $M", {}),
            ("readonly M\nM=Q/M\nvllm serve $M", {}),
            ("declare -r M=Q/M P=1\nvllm serve $M --port $P", {"port": "1"}),
            ("typeset M=Q/M\nvllm serve ${M}", {}),
            ("f() { local M=Q/M; vllm serve $M; }\nf", {}),
            ("M=Q\nM+=/M\nvllm serve $M", {}),
            (": ${M:=Q/M}\nvllm serve $M", {}),
            ('[ -z "$M" ] && M=Q/M\nvllm serve $M', {}),
            ("if [[ -z ${M:-} ]]; then\n  M=Q/M\nfi\nvllm serve $M", {}),
            ("eval M=Q/M\nvllm serve $M", {}),
            ("A='--port 1'\nA=\"$A --seed 2\"\nvllm serve Q/M $A", {"port": "1", "seed": "2"}),
            (
                'A=(--port 1) # one\nA+=(\n  --seed 2 # two\n)\nvllm serve Q/M "${A[@]}"',
                {"port": "1", "seed": "2"},
            ),
            ("declare -a A=(Q/M --port 1)\nvllm serve ${A[*]}", {"port": "1"}),
            ("A=(0 Q/M)\nvllm serve ${A[1]}", {}),
            ('A=()\nvllm serve Q/M "${A[@]}" --port 1', {"port": "1"}),
            ("P=/models/Q/M\nvllm serve ${P#/models/}", {}),
            ("P=Q/M:7\nvllm serve ${P%:*} --port ${P##*:}", {"port": "7"}),
            ("X=1\nvllm serve ${X:+Q/M}", {}),
            ("vllm serve ${A:-${B:-Q/M}}", {}),
            (
                'J="$(printf \'{"method":"%s","n":%d}\' mtp 2)"\nvllm serve Q/M -sc "$J"',
                {"speculative-config": {"method": "mtp", "n": 2}},
            ),
            (
                'J=$(cat <<END\n{"method": "mtp"}\nEND\n)\nvllm serve Q/M -sc "$J"',
                {"speculative-config": {"method": "mtp"}},
            ),
            ("vllm serve $(echo Q/M)", {}),
            ("A=$'Q/M'\nvllm serve \"$A\"", {}),
            # launch.sh of heitor-mocelin/dgx-spark-research at fd753a2, AsusGx10/vllm-llama-3.3-70b/scripts
            ('D=/home/u/M\nvllm serve "Q/$(basename "$D")"', {}),
            ('D=Q/M/x.gguf/\nvllm serve "$(dirname $D)" --port $(basename 1.gguf .gguf)', {"port": "1"}),
        ],
        holds,
    )


def test_sums_and_nested_commands_are_closed_where_they_are() -> None:
    def holds(value: str, seen: str) -> None:
        found = one(f"N=6\nvllm serve Q/M --max-num-seqs {value} --port 1")
        assert found.flags == {"max-num-seqs": seen, "port": "1"}

    each_row(
        [
            ("$((6 * (5 + 1)))", "$((6 * (5 + 1)))"),
            ("$(( N * (${K:-5} + 1) ))", "$(( N * (${K:-5} + 1) ))"),
            ("$(( N > 5 && N != 7 ))", "$(( N > 5 && N != 7 ))"),
            ("$((UNKNOWN + 1))", "$((UNKNOWN + 1))"),
            ("$(( 2 ** 99 ))", "$(( 2 ** 99 ))"),
            ("$(a $(b (c) ')') \")\" )", "$(a $(b (c) ')') \")\" )"),
            ('"$(a "$(b ")")")"', '$(a "$(b ")")")'),
            ("`nproc --all`", "$(nproc --all)"),
        ],
        holds,
    )


def test_a_value_of_a_branch_is_not_known() -> None:
    def holds(text: str, seen: str | None) -> None:
        found = one(f"{text}\nvllm serve Q/M --max-model-len ${{L}} --port 1")
        assert (found.text("max-model-len"), found.text("port")) == (seen, "1")

    each_row(
        [
            ('if [ "$A" = b ]; then L=1; fi', "${L}"),
            ('L=1\nif [ -n "$A" ]; then L=2; fi', "${L}"),
            ("L=1\nif [ -f /etc/x ]; then L=2; else L=3; fi", "${L}"),
            ("if ping -c1 x; then L=2; else L=2; fi", "2"),
            ("L=1\ngrep -q x /etc/y && L=2", "${L}"),
            ("L=1\n[ -f /etc/x ] || L=2", "${L}"),
            ("case $A in b) L=1 ;; *) L=2 ;; esac", "${L}"),
            ("A=b\ncase $A in b|c) L=1 ;; *) L=2 ;; esac", "1"),
            ('A=${A:-0}\nif [ "$A" = 1 ]; then L=1; elif [[ $A == 0 ]]; then L=2; else L=3; fi', "2"),
            ("L=1\nfor x in a b; do L=$x; done", "${L}"),
            ("for x in 5; do L=$x; done", "${L}"),
            ("while read -r line; do L=$line; done < file", "${L}"),
            ("L=1\n(L=2)", "1"),
            ("L=1\necho x | { L=2; }", "1"),
            ("L=1\nread -r L", "${L}"),
            ("L=$(nproc)", "${L}"),
            ("N=3\nif (( N > 2 )); then L=4; fi", "${L}"),
        ],
        holds,
    )


def test_an_array_that_a_branch_adds_to_is_known_in_part() -> None:
    text = "o=(--network host --gpus all)\nif [ -d /x ]; then o+=(--privileged); fi\n"
    found = one(f'{text}docker run "${{o[@]}}" img vllm serve Q/M')
    assert found.container is not None
    assert (found.container.network, found.container.gpus, found.container.privileged) == ("host", True, False)
    assert (found.container.whole, found.whole) == (False, False)


def test_an_option_of_docker_that_is_not_known_leaves_the_container_unknown() -> None:
    def holds(options: str, image: str, *, whole: bool) -> None:
        found = one(f"docker run {options} vllm serve Q/M --port 1")
        assert found.container is not None
        assert (found.container.image, found.container.whole, found.whole) == (image, whole, whole)
        assert (found.model, found.flags) == ("Q/M", {"port": "1"})

    each_row(
        {
            "an image": lambda: holds("$IMAGE", "$IMAGE", whole=True),
            "any name before the command": lambda: holds("--rm $X", "$X", whole=True),
            "options by their name": lambda: holds("--rm $DOCKER_OPTS img", "img", whole=False),
            "an array": lambda: holds('"${more[@]}" img', "img", whole=False),
            "what may be empty": lambda: holds("${A:+--gpus all} img", "img", whole=False),
            "all arguments": lambda: holds('"$@" img', "img", whole=False),
            "before an option": lambda: holds("$X --gpus all img", "img", whole=False),
            "before an image with a tag": lambda: holds("$X org/vllm:1", "org/vllm:1", whole=False),
            "a command": lambda: holds("$(gpu_options) img", "img", whole=False),
        },
        lambda check: check(),
    )


def test_functions() -> None:
    def holds(text: str, *models: str) -> None:
        assert [each.model for each in launch_text.read(text)] == [*models]

    each_row(
        [
            ('serve() { vllm serve "$1" "${@}"; }\nserve Q/A', "Q/A"),
            ('function serve {\n  vllm serve "${1:-Q/B}"\n}\nserve Q/A\nserve', "Q/A", "Q/B"),
            ("serve() {\n  vllm serve Q/A\n}\ncase $1 in start) serve ;; stop) docker rm -f x ;; esac", "Q/A"),
            ("never() { vllm serve Q/A; }", "Q/A"),
            ("M=Q/A\nset_it() { M=Q/B; }\nset_it\nvllm serve $M", "Q/B"),
            ("M=Q/A\nset_it() { local M=Q/B; }\nset_it\nvllm serve $M", "Q/A"),
            ("again() { again; vllm serve Q/A; }\nagain", "Q/A"),
            ('of() { local -n _out="$1"; _out=(Q/A --port 1); }\nA=()\nof A\nvllm serve "${A[@]}"', "Q/A"),
            ('of() { local -n o="$1"; o+=(Q/B); }\nA=(serve)\nof A\no=x\nvllm "${A[@]}"', "Q/B"),
        ],
        holds,
    )


def test_scripts_that_a_script_writes() -> None:
    def holds(text: str) -> None:
        found = one(text)
        assert (found.model, found.flags) == ("Q/M", {"port": "1"})

    written = "<<'END'\n#!/bin/bash\nexec vllm serve Q/M --port 1\nEND\n"
    each_row(
        [
            f"cat > run.sh {written}chmod +x run.sh\n./run.sh",
            f"cat > run.sh {written}scp run.sh spark-b:",
            f"cat >run.sh {written}nohup bash ./run.sh &",
            f'S="$(mktemp)"\ncat >"$S" {written}bash "$S"',
            f"tee run.sh {written}source run.sh",
            f"sudo tee /opt/run.sh {written}sh -x /opt/run.sh",
            f"bash {written}",
            f"ssh spark-b bash -s {written}",
            f"ssh -o BatchMode=yes user@spark-b {written}",
            "P=1\nbash <<END\nvllm serve Q/M --port $P\nEND",
            "bash -s <<-END\n\tvllm serve Q/M --port 1\n\tEND",
            "ssh -p 22 spark-b 'vllm serve Q/M --port 1'",
            "tmux new-session -d -s v 'vllm serve Q/M --port 1'",
            "screen -dmS v bash -c 'vllm serve Q/M --port 1'",
            f"cat >run.sh {written}docker run -v ./run.sh:/run.sh:ro img bash /run.sh",
            f"cat >bin/run.sh {written}docker run -v ./bin:/opt img /opt/run.sh",
            "cat >r <<'E'\nvllm serve \"$@\"\nE\nbash r Q/M --port 1",
            "cat >r <<'E'\nvllm serve $1 --port ${2:-9}\nE\ndocker run -v ./r:/r img /r Q/M 1",
        ],
        holds,
    )


STARTED = "docker run -d --name box --gpus all --network host -e A=1 img sleep infinity\n"


def test_what_runs_in_a_container_that_was_started_before_belongs_to_it() -> None:
    def holds(text: str) -> None:
        found = one(text)
        assert found.container is not None
        assert (found.model, found.container.image, found.container.network) == ("Q/M", "img", "host")
        assert (found.container.gpus, found.whole) == (True, True)
        assert found.environment == {"A": "1", "B": "2"}

    each_row(
        [
            f"{STARTED}docker exec -d -e B=2 box vllm serve Q/M",
            f"{STARTED}docker exec -i box bash <<END\nexport B=2\nvllm serve Q/M\nEND",
            f"{STARTED}docker exec box bash -lc 'B=2 vllm serve Q/M'",
            f"{STARTED}docker exec -e B=2 box bash -lc 'exec vllm serve \"$1\"' vllm-serve Q/M",
            f"{STARTED}cat >s <<'END'\nvllm serve Q/M\nEND\ndocker cp s box:/s\ndocker exec -e B=2 box bash /s",
            f"{STARTED}docker exec -it -e B=2 box bash\nvllm serve Q/M",
            f"{STARTED.replace('-d', '-it').replace('sleep infinity', 'bash')}export B=2\nvllm serve Q/M",
        ],
        holds,
    )
    assert one(f"{STARTED}docker exec other vllm serve Q/M").container is None
    away = f"{STARTED.replace('-d', '-it').replace('sleep infinity', 'bash')}exit\nvllm serve Q/M"
    assert one(away).container is None


def test_scripts_that_are_not_here_are_named_where_nothing_is_found() -> None:
    """launch-step-3.7-flash-nvfp4.sh of urbanspr1nter's recipes at 5a4188c, and up.sh of epappas/gx10-cluster."""

    def holds(text: str, said: str) -> None:
        with pytest.raises(Unreadable, match=f"is in it{said}$"):
            launch_text.read(text)

    each_row(
        [
            (
                'B="$HOME/x"\n"$B/run-recipe.sh" step --no-ray',
                r"; it runs \$HOME/x/run-recipe.sh, .* does not have",
            ),
            ("source ../twonode.sh\ntwonode_up\nbash b.sh", "; it runs ../twonode.sh and b.sh, .* does not have"),
            ("source .env\nls", ""),
        ],
        holds,
    )


def test_options_of_docker_that_a_function_puts_into_an_array_are_seen() -> None:
    """02-launch-cluster.sh of Ancientfall/gx10-stack at 2f06d3b, shortened."""
    found = one(
        'flags() {\n  local -n _out="$1"\n  local ip="$2"\n  _out=(\n    --network host\n'
        '    --device /dev/infiniband\n    -e "VLLM_HOST_IP=${ip}"\n  )\n}\nHEAD=()\nflags HEAD 192.0.2.1\n'
        'docker run -d "${HEAD[@]}" --entrypoint /bin/bash img'
        " -lc 'exec ray start --head --port=$1' ray-head 6379\n"
    )
    assert found.ray and found.container
    assert (found.container.network, found.container.devices) == ("host", ("/dev/infiniband",))
    assert found.environment == {"VLLM_HOST_IP": "192.0.2.1"}


def test_vllm_s_own_script_for_ray_is_a_node_of_ray() -> None:
    given = "-e VLLM_HOST_IP=$A -e NCCL_SOCKET_IFNAME=f --device /dev/infiniband"
    found = one(f"A=192.0.2.1\nbash run_cluster.sh org/vllm:1 $A --head ~/hf {given}")
    assert (found.ray, found.model, found.wrapper) == (True, "", "run_cluster.sh")
    assert found.environment == {"VLLM_HOST_IP": "192.0.2.1", "NCCL_SOCKET_IFNAME": "f"}
    assert found.container is not None
    assert (found.container.image, found.container.network, found.container.gpus) == ("org/vllm:1", "host", True)
    assert found.container.devices == ("/dev/infiniband",)
    assert [mount.target for mount in found.mounts] == ["/root/.cache/huggingface"]
    assert one("./run_cluster.sh img 192.0.2.1 --worker /hf").ray
    patched = "sed -i 's/ray start/pip install ray; ray start/' run_cluster.sh\nbash run_cluster.sh i a --head /hf"
    assert one(patched).installs_ray and not found.installs_ray
    with pytest.raises(Unreadable):
        launch_text.read("bash run_cluster.sh img 192.0.2.1 --both /hf")


def test_a_script_in_a_container_that_only_starts_ray_is_a_node_of_it() -> None:
    found = one("docker run --network host img bash -c 'ray start --block --address=192.0.2.1:6379'")
    assert found.ray and found.container is not None and found.container.network == "host"


def test_prose_around_a_command_is_no_error() -> None:
    def holds(text: str) -> None:
        assert one(text).model == "Q/M"

    each_row(
        [
            "if you want, run:\nvllm serve Q/M",
            "for two Sparks (pair):\n\nvllm serve Q/M",
            "```bash\nvllm serve Q/M\n```\nwhile it loads, wait",
            "{ vllm serve Q/M; }",
            "[ -d /models ] && vllm serve Q/M",
            "echo vllm serve Q/N\nvllm serve Q/M",
            "fi\ndone\n)\nvllm serve Q/M",
            "vllm serve Q/M <<END",
            "case closed:\nvllm serve Q/M",
        ],
        holds,
    )


def test_an_image_by_its_digest_has_no_tag() -> None:
    def holds(image: str, tag: str, digest: str) -> None:
        found = one(f"docker run --gpus all {image} --model Q/M").container
        assert found is not None
        assert (found.tag, found.digest) == (tag, digest)

    each_row(
        [
            ("vllm/vllm-openai", "", ""),
            ("vllm/vllm-openai:v0.24.0", "v0.24.0", ""),
            ("vllm/vllm-openai@sha256:1a", "", "sha256:1a"),
            ("vllm/vllm-openai:v0.24.0@sha256:1a", "v0.24.0", "sha256:1a"),
            ("spark:5000/vllm/vllm-openai", "", ""),
        ],
        holds,
    )
