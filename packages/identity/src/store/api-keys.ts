export interface ApiKey {
  readonly id: string
  readonly owner: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly plan: string | undefined
  readonly createdAt: number
  readonly expiresAt: number | undefined
}

export interface ApiKeys {
  create(key: ApiKey, hash: string): Promise<void>
  /** The key while it lives and its owner is not locked. */
  findByHash(hash: string, now: number): Promise<ApiKey | undefined>
  find(id: string): Promise<ApiKey | undefined>
  list(after: string, most: number): Promise<ApiKey[]>
  remove(id: string): Promise<boolean>
  /** The keys of an owner that live, the newest first. */
  ofOwner(owner: string, now: number): Promise<ApiKey[]>
  /** Ends a key of this owner. False when there is none. */
  endOf(owner: string, id: string): Promise<boolean>
}
