export interface InboxItem {
  readonly id: string
  readonly event: string
  readonly subject?: string
  readonly body: string
  readonly createdAt: number
  readonly readAt?: number
}

export interface Inbox {
  /** Stores items; one that is there already stays as it is. */
  put(items: ReadonlyArray<InboxItem & { readonly userId: string }>): Promise<void>
  /** Newest first, those made before the item `before`. */
  list(userId: string, limit: number, before: string | undefined): Promise<readonly InboxItem[]>
}
