/** The events of the simulation, made without a word of the pipeline: what is sent, and what must come of it. */
interface SimulatedEvent {
  readonly event: 'note' | 'alert' | 'like'
  readonly user_id: string
  readonly data: { readonly key: string; readonly actor: string }
  readonly dedup_key: string
}

export interface Traffic {
  /** In the order of submission, replays included. */
  readonly submitted: readonly SimulatedEvent[]
  /** Each event once. */
  readonly unique: readonly SimulatedEvent[]
  readonly users: readonly string[]
  /** Users who are in their quiet hours all the while. */
  readonly quietUsers: ReadonlySet<string>
}

/** `size` events: about a quarter replays, bursts of likes, some alerts, most notes over the cap of their users. */
export function createTraffic(size: number): Traffic {
  const random = seeded(20_261_121)
  const pick = (prefix: string, count: number) => `${prefix}-${Math.floor(random() * count)}`
  const [plain, quiet, likers] = [Math.ceil(size / 25), Math.ceil(size / 200), Math.ceil(size / 50)]
  const unique: SimulatedEvent[] = []
  const add = (event: SimulatedEvent['event'], user_id: string) => {
    const key = `${event}${unique.length}`
    unique.push({ event, user_id, data: { key, actor: `actor-${Math.floor(random() * 8)}` }, dedup_key: key })
  }
  for (let n = 0; n < size * 0.75; n++) {
    const kind = random()
    if (kind < 0.75) add('note', pick('plain', plain))
    else if (kind < 0.8) add('note', pick('quiet', quiet))
    else if (kind < 0.85) add('alert', random() < 0.5 ? pick('quiet', quiet) : pick('plain', plain))
    else add('like', pick('liker', likers))
  }
  const replays = Array.from(
    { length: size - unique.length },
    () => unique[Math.floor(random() * unique.length)],
  ).flatMap((each) => each ?? [])
  const submitted = [...unique, ...replays]
  for (let n = submitted.length - 1; n > 0; n--) {
    const other = Math.max(0, n - Math.floor(random() * 2_000))
    const [a, b] = [submitted[n], submitted[other]]
    if (a && b) [submitted[n], submitted[other]] = [b, a]
  }
  const named = (prefix: string, count: number) => Array.from({ length: count }, (_, n) => `${prefix}-${n}`)
  const quietUsers = named('quiet', quiet)
  return {
    submitted,
    unique,
    users: [...named('plain', plain), ...quietUsers, ...named('liker', likers)],
    quietUsers: new Set(quietUsers),
  }
}

function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296
    return state / 4_294_967_296
  }
}
