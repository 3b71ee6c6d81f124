export interface PushedRequests {
  put(hash: string, clientId: string, parameters: Readonly<Record<string, unknown>>, expiresAt: number): Promise<void>
  /** Takes the request away: it is given to one caller only. */
  take(hash: string, clientId: string, now: number): Promise<Record<string, string | string[]> | undefined>
}
