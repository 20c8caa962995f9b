/* The library that a provider built with NEEDS_MISSING needs. The test removes it after linking. */
__attribute__((visibility("default"))) int overt_hostile_elsewhere(void);
int overt_hostile_elsewhere(void) { return 7; }
