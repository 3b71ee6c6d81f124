type Defined<Options> = { [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** Only what is there: a member that is undefined would take the place of its default. */
export function omitUndefined<Options extends object>(options: Options): Defined<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Defined<Options>
}
