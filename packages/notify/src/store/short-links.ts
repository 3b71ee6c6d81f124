/** Where a short link leads, and whose click it is. */
export interface StoredLink {
  readonly deliveryId: string
  readonly target: string
}

/** The short links of messages. They are written with the deliveries they belong to. */
export interface ShortLinks {
  /** The link of an id that has not expired at `now` (Unix milliseconds). */
  find(id: string, now: number): Promise<StoredLink | undefined>
}
