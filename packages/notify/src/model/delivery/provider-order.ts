/** Providers in the order that was chosen: those that it names first, the others behind them as they were. */
export function inChosenOrder<Named extends { readonly name: string }>(
  providers: readonly Named[],
  chosen: readonly string[] | undefined,
): readonly Named[] {
  if (!chosen || chosen.length === 0) return providers
  const named = chosen.flatMap((name) => providers.find((each) => each.name === name) ?? [])
  return [...named, ...providers.filter((each) => !named.includes(each))]
}

/** What a provider is, and where its credentials are: the setting, never its value. */
export interface ProviderSource {
  readonly kind: string
  readonly setting: string
}
