/** A member that differs between what a person wants and what is stored. */
export interface Difference<Name extends string> {
  readonly name: Name
  readonly mine: unknown
  readonly theirs: unknown
}

/** The members of `mine` that are other ones in `theirs`. */
export function differences<Values extends object>(
  mine: Values,
  theirs: Values,
): readonly Difference<Extract<keyof Values, string>>[] {
  const names = Object.keys(mine) as Extract<keyof Values, string>[]
  return names
    .filter((name) => JSON.stringify(mine[name] ?? null) !== JSON.stringify(theirs[name] ?? null))
    .map((name) => ({ name, mine: mine[name], theirs: theirs[name] }))
}
