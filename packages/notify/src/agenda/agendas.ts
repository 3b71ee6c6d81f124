import { type WorkKind, workKinds } from '../model/work/work-kind.ts'
import { Agenda, type AgendaOptions } from './agenda.ts'

/** What came to a process' notice, and is another's to do: buckets of a kind, or all, and from when on if not from now. */
export type ShareHint = (kind: WorkKind, buckets: readonly number[], dueAt: number | undefined) => void

/** Work that waits for a time, of which a claim does not say what is due next. */
const timedKinds: readonly WorkKind[] = ['schedule', 'resume']

/** Options of {@link Agendas}. */
export interface AgendasOptions extends AgendaOptions {
  /** How many buckets the database has. */
  readonly count: number
}

/** The agendas of a process, one for each kind of work, and the workers that follow them. */
export class Agendas {
  readonly count: number
  readonly #agendas: ReadonlyMap<WorkKind, Agenda>
  readonly #workers = new Map<WorkKind, () => void>()
  readonly #all: readonly number[]
  #owned: ReadonlySet<number> = new Set()
  #share: ShareHint | undefined

  constructor({ count, ...options }: AgendasOptions) {
    this.count = count
    this.#all = Array.from({ length: count }, (_, bucket) => bucket)
    this.#agendas = new Map(workKinds.map((kind) => [kind, new Agenda(options)]))
  }

  /** The agenda of a kind of work. */
  of(kind: WorkKind): Agenda {
    const agenda = this.#agendas.get(kind)
    if (!agenda) throw new TypeError(`there is no kind of work ${kind}`)
    return agenda
  }

  /** The worker of a kind, to be resumed when there is something to do. */
  attach(kind: WorkKind, worker: { resume(): void }): void {
    this.#workers.set(kind, () => worker.resume())
  }

  /** Where hints go that concern buckets of other processes. */
  shareWith(share: ShareHint): void {
    this.#share = share
  }

  /** Makes all agendas about these buckets. */
  own(buckets: readonly number[]): void {
    this.#owned = new Set(buckets)
    for (const agenda of this.#agendas.values()) agenda.own(buckets)
  }

  /** Something of a kind is due, now or at `dueAt` (Unix milliseconds), in these buckets, or it is not known in which. */
  hint(kind: WorkKind, buckets: readonly number[] = this.#all, dueAt?: number): void {
    const others = buckets.filter((bucket) => !this.#owned.has(bucket))
    if (others.length > 0) this.#share?.(kind, others, dueAt)
    if (others.length < buckets.length) this.receive(kind, buckets, dueAt)
  }

  /** The same, where it came from another process or from a survey: it goes no further. */
  receive(kind: WorkKind, buckets: readonly number[], dueAt?: number): void {
    this.of(kind).hint(buckets, dueAt)
    if (dueAt === undefined) this.#workers.get(kind)?.()
  }

  /** The node of these buckets is back: what failed in them is due now. */
  returned(buckets: readonly number[]): void {
    for (const [kind, agenda] of this.#agendas) {
      agenda.returned(buckets)
      this.#workers.get(kind)?.()
    }
  }

  /** The buckets in which something timed was due and done since this was last called: what is due next is not known. */
  takeServed(): ReadonlySet<number> {
    return new Set(timedKinds.flatMap((kind) => this.of(kind).takeServed()))
  }

  /** All buckets of this process were looked at, or these of them. */
  surveyed(buckets: readonly number[]): void {
    for (const agenda of this.#agendas.values()) agenda.surveyed(buckets)
  }
}
