"""Simple scripts as people publish them, and what is refused: a branch, a loop or another host decides it."""

from __future__ import annotations

from typing import Any

import pytest

from sparkrig.serving import launch_text
from sparkrig.serving.launch import Launch, NotRead, Unreadable
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
            ("declare -r M=Q/M P=1\nvllm serve $M --port $P", {"port": "1"}),
            ("M=Q\nM+=/M\nvllm serve $M", {}),
            (": ${M:=Q/M}\nvllm serve $M", {}),
            ("cd /x && export M=Q/M && vllm serve $M", {}),
            ("M=Q/M\n(cd /x; M=Q/N)\necho x | { M=Q/N; }\nvllm serve $M", {}),
            ("a\n{ M=Q/M; }\nvllm serve $M", {}),
            ("eval M=Q/M\nvllm serve $M", {}),
            ("A='--port 1'\nA=\"$A --seed 2\"\nvllm serve Q/M $A", {"port": "1", "seed": "2"}),
            (
                'A=(--port 1) # one\nA+=(\n  --seed 2 # two\n)\nvllm serve Q/M "${A[@]}"',
                {"port": "1", "seed": "2"},
            ),
            ("declare -a A=(Q/M --port 1)\nvllm serve ${A[*]}", {"port": "1"}),
            ('A=()\nvllm serve Q/M "${A[@]}" --port 1', {"port": "1"}),
            ("vllm serve ${A:-${B:-Q/M}}", {}),
            ("A=$'Q/M'\nvllm serve \"$A\"", {}),
        ],
        holds,
    )


def test_what_is_not_known_stays_as_it_is_written() -> None:
    def holds(text: str, value: str, seen: str) -> None:
        found = one(f"{text}\nvllm serve Q/M --max-num-seqs {value} --port 1")
        assert found.flags == {"max-num-seqs": seen, "port": "1"}

    each_row(
        [
            ("", "$L", "$L"),
            ("read -r L", "$L", "${L}"),
            ("printf -v L 4", "$L", "${L}"),
            ("L=1\nunset L", "$L", "$L"),
            ("L=$(nproc)", "$L", "${L}"),
            ("L=a/b", "${L##*/}", "${L##*/}"),
            ("L=(1 2)", "${L[1]}", "${L[1]}"),
            ("L=1", "${L:+2}", "2"),
            ("", "${L:+2}", "${L:+2}"),
            ("L=", "3${L:+2}", "3"),
            ("", "$((6 * (5 + 1)))", "$((6 * (5 + 1)))"),
            ("N=6", "$(( N > 5 && (${K:-5} + 1) ))", "$(( N > 5 && (${K:-5} + 1) ))"),
            ("", "$(a $(b (c) ')') \")\" )", "$(a $(b (c) ')') \")\" )"),
            ("", '"$(a "$(b ")")")"', '$(a "$(b ")")")'),
            ("", "`nproc --all`", "$(nproc --all)"),
        ],
        holds,
    )


def test_a_launch_that_something_unread_decides_is_refused_with_its_line() -> None:
    """A guess would be judged as if it were the launch."""

    def holds(text: str, said: str) -> None:
        with pytest.raises(NotRead) as refused:
            launch_text.read(text)
        assert str(refused.value) == f"{said}, which is not read; start it, and read its container"

    serve = "vllm serve Q/M"
    sets, ends = "sets in {} what the launch needs", f"\n{serve} --seed $L"
    box, typed = "docker run -d --name b i sleep 9\n", "launches in a container that is started before it"
    function = sets.format("the function {}")
    each_row(
        [
            ('\nif [ -n "$A" ]; then L=1; fi' + ends, f"line 1 {sets.format('`if`')}"),
            ("L=1\nif a; then\n  while b; do L=2; done\nfi" + ends, f"line 2 {sets.format('`if`')}"),
            ("case $A in b) L=1 ;; *) L=2 ;; esac" + ends, f"line 1 {sets.format('`case`')}"),
            ("for L in 1 2; do a; done" + ends, f"line 1 {sets.format('`for`')}"),
            ("while read -r x; do export L=$x; done <f" + ends, f"line 1 {sets.format('`while`')}"),
            ("if a; then export A=1; fi\n" + serve, f"line 1 {sets.format('`if`')}"),
            (
                'o=(--rm)\nif a; then o+=(--gpus all); fi\ndocker run "${o[@]}" i ' + serve,
                f"line 2 {sets.format('`if`')}",
            ),
            ('if a; then C=(vllm serve A); fi\nexec "${C[@]}" "${C[@]}"', f"line 1 {sets.format('`if`')}"),
            ('if a; then L=1; fi\nM=${L}2\nN="--seed $M"\n' + f"{serve} $N", f"line 1 {sets.format('`if`')}"),
            ("if a; then L=1; fi\n" + f"{serve} --seed ${{L#x}}", f"line 1 {sets.format('`if`')}"),
            ('[ -z "$L" ] && L=1' + ends, "line 1 sets behind `&&` what the launch needs"),
            ("[[ a && b ]] && { L=1; }" + ends, f"line 1 {sets.format('braces')}"),
            ("grep -q x y || L=1" + ends, "line 1 sets behind `||` what the launch needs"),
            ("L=1\n(( L += 1 ))" + ends, "line 2 computes what the launch needs"),
            ("f() { L=1; (cd x); }\nf" + ends, f"line 1 {function.format('f')}"),
            ("f() { g; }\ng() { L=1; }\nL=2\nf" + ends, f"line 2 {function.format('g')}"),
            ("f() { export A=1; }\nf\n" + serve, f"line 1 {function.format('f')}"),
            ("A=1\nif a; then export A; fi\n" + serve, f"line 2 {sets.format('`if`')}"),
            ("select L in 1 2; do break; done" + ends, f"line 1 {sets.format('`select`')}"),
            ("let L=1" + ends, "line 1 computes what the launch needs"),
            ("L=1\neval $A=2" + ends, "line 2 may set by `eval` what the launch needs"),
            ("L=(1 2)\nL[0]=3" + ends, "line 2 sets one word of L"),
            ("test -n $A && L=1" + ends, "line 1 sets behind `&&` what the launch needs"),
            (
                "f() { local -n o=$1; o=(1); }; L=()\nf L\n" + f'{serve} "${{L[@]}}"',
                "line 2 sets by f what the launch needs",
            ),
            (f"if a; then\n  {serve}\nfi", "line 1 launches in `if`"),
            (f"f() {{ {serve}; }}", "line 1 launches in the function f"),
            (f"function f {{\n  bash -c '{serve}'\n}}\nf", "line 1 launches in the function f"),
            (f'run() {{ echo $*; "$@"; }}\nrun {serve}', "line 2 launches by `run`"),
            (f"\nssh -p 22 b '{serve}'", "line 1 launches by `ssh`"),
            (f"tmux new-session -d -s v '{serve}'", "line 1 launches by `tmux`"),
            (f"screen -dmS v bash -c '{serve}'", "line 1 launches by `screen`"),
            (f"cat > r.sh <<'END'\n{serve}\nEND\n./r.sh", "line 1 launches from a here-document"),
            (f"cat <<END | bash\n{serve}\nEND", "line 1 launches from a here-document"),
            (f"A=1\nbash -s <<-END\n\t{serve}\n\tEND", "line 2 launches from a here-document"),
            ("vllm serve $(cat model)", "line 1 takes a name from what a command prints"),
            (f"docker run i bash -c 'if a; then\n{serve}\nfi'", "line 1 of docker run i launches in `if`"),
            (f"{box}docker exec b {serve}", f"line 2 {typed}"),
            (f"if a; then\n{box}fi\ndocker exec -i b bash -c '{serve}'", f"line 4 {typed}"),
            (f"{box}docker exec -it b bash\nexport A=1\n{serve}", f"line 4 {typed}"),
            (f"docker run -it --name b i bash\n{serve}", f"line 2 {typed}"),
            (f"bash -c '{serve} --seed ${{1:-2}}' x 3", "line 1 gives arguments to the script of a shell"),
            (f"set -- 3\n{serve} --seed ${{1:-2}}", "line 1 sets the arguments of the script"),
        ],
        holds,
    )


def test_what_has_nothing_to_do_with_the_launch_is_passed_over() -> None:
    def holds(text: str) -> None:
        found = one(f"L=1\n{text}\nvllm serve Q/M --seed $L")
        assert (found.flags, found.environment) == ({"seed": "1"}, {})

    each_row(
        [
            'if [ $# -lt 1 ]; then\n  echo "usage: vllm serve M" >&2\n  exit 1\nfi',
            "usage() { cat <<END\nvllm serve M\nEND\n}\nusage",
            "log() { local L=$1; echo $L; }\nlog x",
            "for i in $(seq 9); do curl -s x && exit 0; sleep 1; done",
            "docker rm -f x || true\ndocker pull i\nmkdir -p x\nset -euo pipefail",
            "while ! curl x; do sleep 1; done",
            "case $1 in stop) docker rm x; exit ;; esac",
            "[[ $A =~ ^(a|b)$ ]] || { echo no; exit 1; }",
            'cat > x.json <<\'END\'\n{"a": "it\'s"}\nEND',
            "test -x /bin/vllm && echo vllm serve M",
            "[[ -f .env ]] && { set -a; . .env; set +a; }",
            "ssh spark-b hostname",
            "if ! docker run --rm cuda nvidia-smi; then exit; fi",
        ],
        holds,
    )


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
