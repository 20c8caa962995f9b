// How a request's keys are cut into parts.

#ifndef PARTS
#define PARTS

// Tiles of a part. Hangs on the request's own keys alone, so that its bits do not depend on the batch.
uint part_tiles(ivec2 seen, uint tile, uint most) {
    uint tiles = (uint(seen.y - seen.x) + tile - 1) / tile;
    return max((tiles + most - 1) / most, 1);
}

// The keys of one part of those that are seen, from its first to its end: none behind the last part.
ivec2 part_of(ivec2 seen, uint part, uint tile, uint most) {
    uint size = part_tiles(seen, tile, most) * tile;
    // Parts times their size may leave 31 bits where there are no such keys.
    uint before = min(part, uint(seen.y - seen.x) / size + 1) * size;
    int begin = int(min(uint(seen.x) + before, uint(seen.y)));
    return ivec2(begin, int(min(uint(begin) + size, uint(seen.y))));
}

// Parts of what is seen.
uint parts_of(ivec2 seen, uint tile, uint most) {
    uint size = part_tiles(seen, tile, most) * tile;
    return (uint(seen.y - seen.x) + size - 1) / size;
}

#endif
