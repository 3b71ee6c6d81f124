type Given<Options> = { [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** Only what is there: a member that is undefined would take the place of its default. */
export function given<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<Options>
}
