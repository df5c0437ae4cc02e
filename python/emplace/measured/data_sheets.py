"""What data sheets say of the GPUs that others measured; configs/devices has the sources."""
from dataclasses import dataclass


@dataclass(frozen=True)
class DataSheet:
    """Peak rates and sizes of a GPU."""
    title: str
    memory_bytes: float
    memory_gb_per_s: float
    f32_gflops: float  # Without TF32.
    f16_gflops: float  # Dense tensor cores.
    half_rate_mflop: float  # Size of a product that reaches half of the rate, as in configs/devices.


DATA_SHEETS = {
    "a40": DataSheet("NVIDIA A40, 48 GB", 48e9, 696, 37400, 149700, 50),
    "a100_80gb": DataSheet("NVIDIA A100, SXM4, 80 GB", 80e9, 2039, 19500, 312000, 60),
    "h100": DataSheet("NVIDIA H100, SXM5, 80 GB", 80e9, 3350, 67000, 989000, 150),
    "h200": DataSheet("NVIDIA H200, SXM, 141 GB", 141e9, 4800, 67000, 989000, 50),
    "b200": DataSheet("NVIDIA B200, 180 GB", 180e9, 8000, 80000, 2250000, 50),
    "l4": DataSheet("NVIDIA L4, 24 GB", 24e9, 300, 30300, 121000, 50),
    "l40s": DataSheet("NVIDIA L40S, 48 GB", 48e9, 864, 91600, 362000, 50),
}
