import type { SearchTarget } from './search-target.ts'

/** How many hits a source shows. */
export const few = 5

/** Something that was found, and the screen that shows it. */
export interface Hit {
  readonly id: string
  readonly label: string
  readonly description?: string | undefined
  /** Which of the keys of an API key it was found by. */
  readonly matched?: string
  readonly open: {
    readonly to: string
    readonly params?: Readonly<Record<string, string>>
    readonly search?: Readonly<Record<string, string>>
  }
}

/** The hits whose id or description begins with the text, or has a word that does. */
export function match(target: SearchTarget, hits: readonly Hit[]): readonly Hit[] {
  const text = (target.kind === 'text' ? target.text : target.kind === 'uuid' ? target.id : '').toLowerCase()
  if (text === '') return []
  const begins = (value = '') =>
    value.toLowerCase().startsWith(text) ||
    value
      .toLowerCase()
      .split(/[\s._:-]+/)
      .some((word) => word.startsWith(text))
  return hits.filter(({ id, description }) => begins(id) || begins(description)).slice(0, few)
}
