export interface UsedOnce {
  /** True for the first caller who names it. */
  use(purpose: string, hash: string, expiresAt: number): Promise<boolean>
}
