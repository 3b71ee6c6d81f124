import { type Clock, type Database, readTableSizes, type TableSize } from '@gatehouse/kit'
import type { Settings } from '../../config/config.ts'

const hourMs = 3_600_000
/** The growth of a week is known at most. */
const weekMs = 168 * hourMs
/** Timers and reads are not exact: what is read so much earlier is a sample too. */
const toleranceMs = 60_000

interface Sample {
  readonly at: number
  readonly bytes: ReadonlyMap<string, number>
}

/** A table with what it grew by since this process knows. */
interface GrowingTable extends TableSize {
  readonly grown?: { readonly bytes: number; readonly since: string }
}

/** The sizes of the tables of the services here; each hour one sample is kept, from which the growth is known. */
export class TableSizes {
  readonly #database: Database
  readonly #schemas: readonly string[]
  readonly #clock: Clock
  readonly #samples: Sample[] = []
  readonly #timer: NodeJS.Timeout

  constructor(database: Database, { services }: Pick<Settings, 'services'>, clock: Clock) {
    this.#database = database
    this.#schemas = [...services].map((service) => (service === 'gateway' ? 'limiter' : service))
    this.#clock = clock
    // A sample that fails is missing; the next one is an hour later.
    this.#timer = setInterval(() => void this.read().catch(() => {}), hourMs).unref()
  }

  /** Reads the sizes, the largest first. */
  async read(): Promise<GrowingTable[]> {
    const sizes = await readTableSizes(this.#database, this.#schemas)
    const at = this.#clock.now()
    const last = this.#samples.at(-1)
    if (last === undefined || at - last.at >= hourMs - toleranceMs)
      this.#samples.push({ at, bytes: new Map(sizes.map((size) => [nameOf(size), size.bytes])) })
    while ((this.#samples[0]?.at ?? at) < at - weekMs) this.#samples.shift()
    const [first] = this.#samples
    return sizes.map((size) => {
      const before = first?.bytes.get(nameOf(size))
      if (first === undefined || before === undefined || first.at === at) return size
      return { ...size, grown: { bytes: size.bytes - before, since: new Date(first.at).toISOString() } }
    })
  }

  /** Ends the sampling. */
  stop(): void {
    clearInterval(this.#timer)
  }
}

const nameOf = ({ schema, table }: TableSize) => `${schema}.${table}`
