/**
 * For processes that live for a test: the embedded database's machine code is not optimised while they run, which costs
 * more than it gives in the few seconds they have.
 */
export const briefly: readonly string[] = ['--liftoff-only']
