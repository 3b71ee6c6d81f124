import type { Dimension, LabelCount, Outcome } from './period.ts'

/** A label without its count. */
export type Label = Omit<LabelCount, 'count'>

/** Counts of labels; names are those of policies, tiers, rules and route templates, so there are few. */
export class LabelCounts {
  readonly #counts: Map<string, number>

  constructor(counts: ReadonlyMap<string, number> = new Map()) {
    this.#counts = new Map(counts)
  }

  /** Adds to a count; nothing for 0. */
  add(label: Label, count = 1): void {
    if (count === 0) return
    const text = labelText(label)
    this.#counts.set(text, (this.#counts.get(text) ?? 0) + count)
  }

  copy(): LabelCounts {
    return new LabelCounts(this.#counts)
  }

  clear(): void {
    this.#counts.clear()
  }

  list(): LabelCount[] {
    return [...this.#counts].map(([text, count]) => ({ ...parseLabel(text), count }))
  }
}

/** A label as a key. */
export function labelText({ by, name, outcome, rule, policy }: Label): string {
  const further = policy === undefined ? (rule === undefined ? [] : [rule]) : [rule ?? '', policy]
  return [by, outcome, name, ...further].join('\t')
}

/** Reads a key that {@link labelText} wrote. */
export function parseLabel(text: string): Label {
  const [by, outcome, name = '', rule = '', policy] = text.split('\t') as [Dimension, Outcome, ...string[]]
  return { by, name, outcome, ...(rule === '' ? {} : { rule }), ...(policy === undefined ? {} : { policy }) }
}
