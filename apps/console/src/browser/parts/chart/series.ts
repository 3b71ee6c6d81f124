/** A line of a chart. */
export interface Series {
  readonly label: string
  /** One for each moment; null where nothing is known, which leaves a gap. */
  readonly values: readonly (number | null)[]
  /** What it comes to, where that is more than its values: what was counted since the last moment is in it. */
  readonly total?: number
  /** Where the list behind the series is. */
  readonly link?: { readonly to: string; readonly search?: Readonly<Record<string, string>> }
}

/** The dashes of the lines in turn, so that colour alone distinguishes none. */
export const dashes: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4]]

/** The colour of a line by its place, as a custom property of the style sheet. */
export function colourOf(index: number): string {
  return `var(--chart-${(index % dashes.length) + 1})`
}

/** The greatest number of moments that a table shows; of more, those at equal distances and the last. */
const maxTableRows = 120

/** The places of the moments that the table behind a chart shows, newest first. */
export function tablePlaces(moments: number): number[] {
  const stride = Math.max(1, Math.ceil(moments / maxTableRows))
  return Array.from({ length: moments }, (_, place) => moments - 1 - place).filter((_, index) => index % stride === 0)
}

/** The places of values that have none beside them: no line leads to them, so that they are drawn as points. */
export function isolatedPlaces(values: ArrayLike<number | null | undefined>): number[] {
  const isKnown = (place: number) => values[place] !== null && values[place] !== undefined
  return Array.from({ length: values.length }, (_, place) => place).filter(
    (place) => isKnown(place) && !isKnown(place - 1) && !isKnown(place + 1),
  )
}
