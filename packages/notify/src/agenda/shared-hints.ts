import type { Clock } from '@gatehouse/kit'
import { type WorkKind, workKinds } from '../model/work/work-kind.ts'
import type { HintExchange } from '../store/ownership.ts'
import type { Agendas } from './agendas.ts'

/** A hint as it travels: a kind of work, a bucket or all of them, and the second from which on something is due. */
interface SharedHint {
  readonly kind: WorkKind
  readonly bucket?: number
  /** Unix milliseconds; left out: now. */
  readonly dueAt?: number
}

/** Says that the processes or their leases have changed. */
const leasesChanged = 'leases'

/** Formats a hint. Hints that say the same are the same text, so that they go together. */
export function formatHint({ kind, bucket, dueAt }: SharedHint): string {
  const second = dueAt === undefined ? '' : `@${Math.floor(dueAt / 1000)}`
  return `${workKinds.indexOf(kind)}.${bucket ?? '*'}${second}`
}

/** Parses a hint; undefined for one of another version of the program. */
export function parseHint(text: string): SharedHint | undefined {
  const [, index, bucket, second] = /^(\d+)\.(\d+|\*)(?:@(\d+))?$/.exec(text) ?? []
  const kind = workKinds[Number(index)]
  if (!kind || bucket === undefined) return undefined
  return {
    kind,
    ...(bucket === '*' ? {} : { bucket: Number(bucket) }),
    ...(second === undefined ? {} : { dueAt: Number(second) * 1000 }),
  }
}

/** What the hints between processes need. */
export interface SharedHintsOptions {
  readonly exchange: HintExchange
  readonly agendas: Agendas
  /** What is due later than this is found by the owner itself in time, and is not shared, in milliseconds. */
  readonly horizonMs: number
  readonly clock: Clock
}

/** Has hints that concern buckets of other processes sent to them. */
export function sendHints({ exchange, agendas, horizonMs, clock }: SharedHintsOptions): void {
  agendas.shareWith((kind, buckets, dueAt) => {
    const now = clock.now()
    if (dueAt !== undefined && dueAt > now + horizonMs) return
    const due = dueAt === undefined || dueAt <= now ? {} : { dueAt }
    const isAll = buckets.length === agendas.count
    exchange.publish(
      (isAll ? [{}] : buckets.map((bucket) => ({ bucket }))).map((at) => formatHint({ kind, ...at, ...due })),
    )
  })
}

/** Has the other processes look at the leases of the buckets. */
export function announceLeases(exchange: HintExchange): void {
  exchange.publish([leasesChanged])
}

/** What a process does with hints from others. */
export interface ReceivedHintsOptions {
  readonly exchange: HintExchange
  readonly agendas: Agendas
  /** Called when the leases of the buckets have changed. */
  readonly onLeases: () => void
  /** Called when hints were missed. */
  readonly onGap: () => void
}

/** Receives hints from other processes until the returned function is called. */
export function receiveHints({ exchange, agendas, onLeases, onGap }: ReceivedHintsOptions): () => Promise<void> {
  return exchange.listen({
    onHints(hints) {
      if (hints.includes(leasesChanged)) onLeases()
      const parsed = hints.flatMap((text) => parseHint(text) ?? [])
      for (const same of Map.groupBy(parsed, ({ kind, dueAt }) => `${kind} ${dueAt}`).values()) {
        const [{ kind, dueAt } = { kind: undefined }] = same
        if (!kind) continue
        const isAll = same.some(({ bucket }) => bucket === undefined)
        agendas.receive(kind, isAll ? agendas.of(kind).buckets : same.flatMap(({ bucket }) => bucket ?? []), dueAt)
      }
    },
    onGap,
  })
}
