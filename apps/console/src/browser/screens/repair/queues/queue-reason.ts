/** Why deliveries of a channel wait in the queue. */
export type QueueReason = 'sent' | 'paused' | 'failing' | 'busy'

interface Depth {
  readonly channel: string
  readonly due: number
  readonly later: number
  readonly oldest_due_at?: string | undefined
}

interface ProviderState {
  readonly channel: string
  readonly state: string
}

/** After so long, what is due should have been taken. */
const patienceMs = 15_000

/** Why what is queued was not sent; undefined where nothing waits. */
export function whyQueued(
  { channel, due, later, oldest_due_at: oldest }: Depth,
  providers: readonly ProviderState[],
  now: number,
): QueueReason | undefined {
  if (due === 0 && later === 0) return undefined
  const mine = providers.filter((each) => each.channel === channel)
  if (mine.length > 0 && mine.every(({ state }) => state === 'paused')) return 'paused'
  if (mine.length > 0 && mine.every(({ state }) => state !== 'closed')) return 'failing'
  if (due === 0) return undefined
  return oldest !== undefined && now - Date.parse(oldest) > patienceMs ? 'busy' : 'sent'
}
