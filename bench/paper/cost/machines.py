"""The three machines of the ERIS paper, as its Tables 1 and 2 and section 2.2 describe them.

What the paper's text does not tell, how many NumaNodes lie at each distance, is worked out here from what it does tell,
or assumed; `assumed` says which.
"""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Distance:
    """The NumaNodes at one distance from any NumaNode, as a line of Table 2 has them."""
    name: str
    pairs: float  # how many NumaNodes
    gb_s: float  # that all cores of one NumaNode read from one NumaNode at this distance
    ns: float  # of one dependent read
    hops: int  # links between NumaNodes (SGI: between blades)


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    numa_nodes: int
    threads: int  # of one NumaNode, each with an AEU
    cache_mib: float  # last-level cache of one NumaNode
    gb_s: float  # that all cores of a NumaNode read from its own memory
    ns: float
    distances: tuple  # other NumaNodes
    out_gb_s: float  # sum of all links that leave a NumaNode, one direction
    links_gb_s: float  # sum of all links between NumaNodes, one direction each
    sizes: tuple  # of Figure 8, keys
    assumed: str

    def mean(self, what):
        """Mean over the other NumaNodes of a figure of their distances."""
        return sum(one.pairs * what(one) for one in self.distances) / sum(one.pairs for one in self.distances)


M, G = 1 << 20, 1 << 30
SMALL_SIZES = (16 * M, 64 * M, 256 * M, G, 2 * G)

INTEL = Machine(
    "Intel", 4, threads=20, cache_mib=24, gb_s=26.7, ns=129, distances=(Distance("1 hop QPI", 3, 10.7, 193, 1),),
    out_gb_s=3 * 12.8, links_gb_s=12 * 12.8, sizes=SMALL_SIZES,
    assumed="an AEU on each of the 20 hardware threads of a NumaNode")

# A NumaNode reaches the other one of its package by a whole link, one NumaNode of each other package by half a link (4 at
# 1 hop), and the three others by 2 hops. How many of the half links have a link of their own ("split, single") and how many
# share one ("split, dual") the text does not tell.


def amd(single=0.5):
    """`single`: the part of half links that share no link."""
    return Machine(
        "AMD", 8, threads=8, cache_mib=6, gb_s=16.4, ns=85,
        distances=(Distance("1 hop, full link", 1, 5.8, 136, 1),
                   Distance("1 hop, split, single", 3 * single, 4.2, 152, 1), Distance("1 hop, split, dual", 3 * (1 - single), 2.9, 152, 1),
                   Distance("2 hops, split, single", 3 * single, 3.7, 196, 2), Distance("2 hops, split, dual", 3 * (1 - single), 1.8, 196, 2)),
        out_gb_s=12.8 + 3 * 6.4, links_gb_s=8 * (12.8 + 3 * 6.4), sizes=SMALL_SIZES,
        assumed="half of AMD's split links are single and half dual, at 1 hop as at 2")


# From the text: 4 units of 8 blades of 2 NumaNodes; 8 connections of 2 x 6.7 GB/s from each blade, of which 2 lead to other
# units; 4 hops at most. If the units are a ring, and a blade has 6 of the 7 others of its unit next to it, then 8, 14, 8 and 1
# blades are at 1, 2, 3 and 4 hops, and none is farther.
SGI_BLADES = (8, 14, 8, 1)
SGI_REMOTE = ((7.5, 510), (7.5, 630), (7.1, 750), (6.5, 870))
SGI_USED = 61  # NumaNodes in Figure 9


def sgi(blades=SGI_BLADES):
    """`blades`: at 1 to 4 hops."""
    return Machine(
        "SGI", 64, threads=8, cache_mib=20, gb_s=36.2, ns=81,
        distances=(Distance("2nd processor", 1, 9.5, 400, 0),
                   *(Distance(f"{hops} hop NUMALink", 2 * count, gb_s, ns, hops)
                     for hops, (count, (gb_s, ns)) in enumerate(zip(blades, SGI_REMOTE), 1))),
        out_gb_s=16, links_gb_s=32 * 8 * 2 * 6.7, sizes=(16 * M, 64 * M, 256 * M, G, 4 * G, 32 * G),
        assumed="SGI's blades at 1, 2, 3 and 4 hops are 8, 14, 8 and 1")


AMD, SGI = amd(), sgi()
MACHINES = (INTEL, AMD, SGI)
BYTES_PER_KEY = 25  # 4.2.1: 1 billion keys take some 25 GB
