"""Other engines: named as what they are from each form, with their model, flags and image."""

from __future__ import annotations

import json

from sparkrig.io import lint_rules
from sparkrig.io.catalogue_files import catalogue
from sparkrig.serving import engines, launch_text
from sparkrig.serving.launch import Launch
from sparkrig.serving.lint import judgement
from sparkrig.serving.lint.case import Case
from tests.tables import each_row


def one(text: str) -> Launch:
    (found,) = launch_text.read(text)
    return found


def test_the_command_of_each_engine() -> None:
    def holds(engine: str, text: str, flags: dict[str, str | bool]) -> None:
        for typed in (text, f"docker run --gpus all img {text}", f"docker exec box bash -c '{text}'"):
            found = one(typed)
            assert (found.engine, found.model, found.extra) == (engine, "Q/M", ())
            assert {name: value for name, value in found.flags.items() if value != "Q/M"} == flags

    each_row(
        [
            ("vllm", "vllm serve Q/M --port 1", {"port": "1"}),
            (
                "sglang",
                "python3 -m sglang.launch_server --model-path Q/M --mem-fraction-static 0.95 --cuda-graph-bs 1 2",
                {"mem-fraction-static": "0.95", "cuda-graph-bs": "1 2"},
            ),
            ("sglang", "sglang serve --model-path=Q/M --trust-remote-code", {"trust-remote-code": True}),
            ("llama.cpp", "./bin/llama-server -hf Q/M -ngl 99 --jinja", {"n-gpu-layers": "99", "jinja": True}),
            ("llama.cpp", "llama-cli -m Q/M --rpc 192.0.2.1:50052", {"rpc": "192.0.2.1:50052"}),
            ("trt-llm", "trtllm-serve Q/M --tp_size 2", {"tp-size": "2"}),
            ("trt-llm", "trtllm-serve serve --trust_remote_code Q/M", {"trust-remote-code": True}),
            ("trt-llm", "mpirun -n 2 -H a,b trtllm-llmapi-launch trtllm-serve Q/M", {}),
            ("ollama", "ollama run Q/M", {}),
            ("atlas", "spark serve Q/M --speculative --port 1", {"speculative": True, "port": "1"}),
            ("lmdeploy", "lmdeploy serve api_server Q/M --tp 2", {"tp": "2"}),
            ("tgi", "text-generation-launcher --model-id Q/M --quantize fp8", {"quantize": "fp8"}),
        ],
        holds,
    )


def test_images_that_run_their_server_with_the_words() -> None:
    def holds(engine: str, image: str, words: str, model: str = "Q/M") -> None:
        composed = f"services:\n  a: {{image: '{image}', command: {json.dumps(words.split())}}}\n"
        for text in (f"docker run --gpus all {image} {words}", composed):
            found = one(text)
            assert found.container is not None
            assert (found.engine, found.model, found.container.image) == (engine, model, image)

    each_row(
        [
            ("llama.cpp", "ghcr.io/ggml-org/llama.cpp:server-cuda", "-m Q/M --port 1"),
            ("tgi", "ghcr.io/huggingface/text-generation-inference:3", "--model-id Q/M"),
            ("ollama", "ollama/ollama", "", ""),
            ("atlas", "avarok/atlas-gb10:latest", "serve Q/M --port 1"),
            ("trt-llm", "nvcr.io/nvidia/tensorrt-llm/release:1", "trtllm-serve Q/M"),
            ("sglang", "lmsysorg/sglang:spark", "sglang serve --model-path Q/M"),
            ("vllm", "vllm/vllm-openai", "--model Q/M"),
        ],
        holds,
    )


def test_the_other_forms() -> None:
    inspected = [{"Name": "/s", "Path": "llama-server", "Args": ["-m", "Q/M"], "Config": {}, "HostConfig": {}}]
    recipe = "name: a\ncommand: sglang serve --model-path Q/M --tp {n}\ndefaults: {n: 2}\n"
    assert one(json.dumps(inspected)).engine == "llama.cpp"
    assert (one(recipe).engine, one(recipe).flags["tensor-parallel-size"]) == ("sglang", "2")


def test_one_text_may_have_several_engines() -> None:
    found = launch_text.read("vllm serve Q/A &\nllama-server -m Q/B --port 2 &\n")
    assert [(each.engine, each.model) for each in found] == [("vllm", "Q/A"), ("llama.cpp", "Q/B")]


def test_variables_name_the_model_of_llama_cpp() -> None:
    """[@llama-24218]: the image is built beside the compose file, and all is set by variables."""

    def holds(service: str, model: str, engine: str) -> None:
        found = one(f"services:\n  a: {{{service}}}\n")
        assert (found.model, found.engine) == (model, engine)

    step = (
        "environment: [LLAMA_ARG_MODEL=/models/Step-3.7-flash-IQ4_XS-00001-of-00003.gguf, LLAMA_ARG_MMAP=disabled]"
    )
    image = "image: ghcr.io/ggml-org/llama.cpp:server-cuda13"
    each_row(
        [
            (f"build: ., {step}", "/models/Step-3.7-flash-IQ4_XS-00001-of-00003.gguf", "llama.cpp"),
            (
                f"{image}, environment: {{LLAMA_ARG_HF_REPO: u/gpt-oss-120b-GGUF}}",
                "u/gpt-oss-120b-GGUF",
                "llama.cpp",
            ),
            (f"{image}, command: -m /m.gguf, {step}", "/m.gguf", "llama.cpp"),
            (f"image: vllm/vllm-openai:v1, command: Q/M, {step}", "Q/M", "vllm"),
        ],
        holds,
    )


def test_an_image_is_of_one_engine() -> None:
    def holds(image: str, engine: str) -> None:
        assert engines.of_image(image) == engine

    each_row(
        [
            ("vllm/vllm-openai:v1", ""),
            ("vllm-node", ""),
            ("org/vllm-sglang:1", ""),
            ("nvcr.io/nvidia/tritonserver:25.01-trtllm-python-py3", "trt-llm"),
            ("scitrera/dgx-spark-sglang:1", "sglang"),
            ("local/llama.cpp:server", "llama.cpp"),
            ("mongodb/atlas:1", ""),
            ("postgres", ""),
        ],
        holds,
    )


def test_what_is_asked_of_every_engine() -> None:
    def rules(text: str) -> set[str]:
        return {each.rule.id for each in judgement.judge(Case(one(text), lambda _: None), lint_rules.rules())}

    assert rules("sglang serve --model-path Q/M --mem-fraction-static 0.95") == {"other-engine"}
    bad = "docker run --platform linux/amd64 lmsysorg/sglang sglang serve --model-path Q/M"
    assert rules(bad) == {"other-engine", "image-architecture", "no-gpu"}
    large = "sglang serve --model-path Qwen/Qwen3-235B-A22B-GPTQ-Int4 --tp {} --api-key x"
    known = catalogue().find
    assert {each.rule.id for each in judgement.judge(Case(one(large.format(1)), known), lint_rules.rules())} == {
        *("other-engine", "secret-argument"),
    }
    whole = "sglang serve --model-path Qwen/Qwen3.5-122B-A10B --tp {}"
    disk = judgement.judge(
        Case(one("sglang serve --model-path RadixArk/Qwen3.8-Flash-Next-NVFP4"), known), lint_rules.rules()
    )
    assert {each.rule.id for each in disk} == {"other-engine"}, "its table may be on the disk"
    found = {
        tp: {each.rule.id for each in judgement.judge(Case(one(whole.format(tp)), known), lint_rules.rules())}
        for tp in (1, 2)
    }
    assert found == {1: {"other-engine", "weights-too-large"}, 2: {"other-engine"}}
    (note,) = judgement.judge(Case(one("ollama serve"), lambda _: None), lint_rules.rules())
    assert (note.severity, note.found) == ("note", "it launches Ollama, and lint judges launches of vLLM")
