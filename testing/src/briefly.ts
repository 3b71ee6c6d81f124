/**
 * For processes that live for a test. The embedded database's machine code is not optimised while they run, and their
 * memory is rarely collected: both cost more than they give in the few seconds that they have.
 */
export const briefly: readonly string[] = [
  '--liftoff-only',
  '--initial-old-space-size=512',
  '--min-semi-space-size=32',
  '--max-semi-space-size=64',
]
