import type { Dimension, LabelCount, Outcome } from './period.ts'

/** Counts of labels; names are those of policies, tiers, rules and route templates, so there are few. */
export class LabelCounts {
  readonly #counts: Map<string, number>

  constructor(counts: ReadonlyMap<string, number> = new Map()) {
    this.#counts = new Map(counts)
  }

  /** Adds to a count; nothing for 0. */
  add(by: Dimension, name: string, outcome: Outcome, count: number, rule?: string): void {
    if (count === 0) return
    const label = labelText(rule === undefined ? { by, name, outcome } : { by, name, outcome, rule })
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + count)
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

/** A label without its count. */
export type Label = Omit<LabelCount, 'count'>

/** A label as a key. */
export function labelText({ by, name, outcome, rule }: Label): string {
  return rule === undefined ? `${by}\t${outcome}\t${name}` : `${by}\t${outcome}\t${name}\t${rule}`
}

/** Reads a key that {@link labelText} wrote. */
export function parseLabel(text: string): Label {
  const [by, outcome, name = '', rule] = text.split('\t') as [Dimension, Outcome, string?, string?]
  return { by, name, outcome, ...(rule === undefined ? {} : { rule }) }
}
