/** A document that one session looks at for a moment. */
export interface Preview {
  /** The hash of the id in its address. */
  readonly idHash: string
  readonly sessionIdHash: string
  readonly document: string
  /** Unix milliseconds. */
  readonly expiresAt: number
}

/** The previews, in the memory of no process: another one may be asked for them. */
export interface Previews {
  /**
   * Keeps a preview, and removes those that have expired and the oldest of the session beyond what it may have. False when
   * the session has ended.
   */
  keep(preview: Preview, now: number): Promise<boolean>
  /** The document of a preview of this session that has not expired. */
  find(preview: Pick<Preview, 'idHash' | 'sessionIdHash'>, now: number): Promise<string | undefined>
}

/** How long a preview is there, in milliseconds. */
export const previewLifetimeMs = 60_000
/** How many previews a session has at once. */
export const maxPreviewsPerSession = 32
/** How large they are together, in bytes. */
export const maxPreviewBytesPerSession = 4 * 1024 * 1024
