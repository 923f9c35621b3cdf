"""Launches as people write them, and their one reading."""

from __future__ import annotations

# [@forum-365083], step 6, with the empty lines and the quotation marks of the page
INJECTED = """
docker run -d --name qwen35 --gpus all --ipc host --shm-size 64gb \\

-p 8000:8000 \\

-e VLLM_FLASHINFER_MOE_BACKEND=latency \\

-e VLLM_TEST_FORCE_FP8_MARLIN=1 \\

-v /path/to/huggingface/cache:/root/.cache/huggingface \\

vllm-custom:sm121-inject \\

Qwen/Qwen3.5-35B-A3B \\

--served-model-name qwen3.5-35b \\

--port 8000 --host 0.0.0.0 \\

--max-model-len 32768 \\

--gpu-memory-utilization 0.65 \\

--quantization fp8 --kv-cache-dtype fp8
"""


# [@forum-365083-thread], a reader's question
ASKED = (
    "VLLM_SPARK_EXTRA_DOCKER_ARGS=\u201c-v /data/models/Qwen3.5-35B-A3B:/model\u201d "
    "./launch-cluster.sh --solo exec \\ vllm serve \\ /model \\ "
    "--port 8000 --host 0.0.0.0 \\ --gpu-memory-utilization 0.7 \\ "
    "--served-model-name Qwen3.5-35B-A3B \\ --tool-call-parser qwen3_coder \\ --enable-auto-tool-choice \\ "
    "--reasoning-parser qwen3 \\ --load-format fastsafetensors"
)


# [@docai-122b], Anatomy of a cold start
LARGE = """docker run -d --name vllm-122b-nvfp4 \\
  --runtime=nvidia --gpus all --privileged --network host --ipc=host \\
  -v /opt/vllm/qwen35-122B/models/Qwen3.5-122B-A10B-NVFP4-Sehyo:/models/qwen35-122b-nvfp4:ro \\
  -v ~/.cache/vllm:/root/.cache/vllm \\
  -v ~/.cache/flashinfer:/root/.cache/flashinfer \\
  -v ~/.triton:/root/.triton \\
  -e NCCL_IGNORE_CPU_AFFINITY=1 \\
  vllm-node \\
  vllm serve /models/qwen35-122b-nvfp4 \\
    --served-model-name qwen35-122b-nvfp4 \\
    --port 8000 --host 0.0.0.0 \\
    --max-model-len 131072 \\
    --max-num-seqs 4 \\
    --max-num-batched-tokens 8192 \\
    --gpu-memory-utilization 0.90 \\
    --kv-cache-dtype fp8 \\
    --enable-prefix-caching \\
    --trust-remote-code \\
    --enable-auto-tool-choice \\
    --tool-call-parser qwen3_coder \\
    --reasoning-parser qwen3 \\
    --speculative-config '{"method":"mtp","num_speculative_tokens":2}' \\
    --default-chat-template-kwargs '{"enable_thinking": false}'
"""


COMPOSED = """
x-common: &common
  image: vllm-node
  ipc: host
services:
  head:
    <<: *common
    network_mode: host
    privileged: true
    cap_add: [IPC_LOCK]
    devices: ["/dev/infiniband:/dev/infiniband"]
    ulimits: {memlock: -1, nofile: {soft: 1048576, hard: 1048576}}
    environment: {NCCL_IGNORE_CPU_AFFINITY: 1, VLLM_HOST_IP: 192.168.100.10}
    volumes:
      - ~/.cache/huggingface:/root/.cache/huggingface
      - {type: bind, source: /etc/nccl.conf, target: /etc/nccl.conf}
    deploy:
      resources:
        reservations:
          devices: [{driver: nvidia, count: all, capabilities: [gpu]}]
    command: >
      vllm serve ${MODEL:-Qwen/Qwen3-235B-A22B-GPTQ-Int4}
      --tensor-parallel-size ${TP}
      --speculative-config '{"method": "mtp"}'
  database:
    image: postgres
"""


INSPECTED = {
    "Id": "c1",
    "Name": "/vllm",
    "Path": "/opt/nvidia/nvidia_entrypoint.sh",
    "Args": ["vllm", "serve", "Qwen/Qwen3-8B", "-tp", "2"],
    "Image": "sha256:9",
    "Config": {"Image": "nvcr.io/nvidia/vllm:26.04-py3", "Env": ["A=1", "HF_TOKEN=secret"]},
    "HostConfig": {
        "Runtime": "nvidia",
        "Privileged": False,
        "NetworkMode": "host",
        "IpcMode": "private",
        "Devices": [{"PathOnHost": "/dev/infiniband", "PathInContainer": "/dev/infiniband"}],
        "DeviceRequests": None,
        "CapAdd": ["CAP_IPC_LOCK"],
        "Ulimits": [{"Name": "memlock", "Soft": -1, "Hard": -1}],
        "Memory": 0,
    },
    "Mounts": [{"Type": "bind", "Source": "/root/.cache", "Destination": "/root/.cache"}],
}
