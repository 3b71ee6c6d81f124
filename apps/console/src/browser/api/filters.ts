import { useNavigate, useSearch } from '@tanstack/react-router'

/** Filters by name; one that is empty is left out. */
export type Filters<Name extends string> = { readonly [Key in Name]?: string }

/** The filters in the address that a screen knows, and how to change them. */
export function useFilters<Name extends string>(
  names: readonly Name[],
): readonly [filters: Filters<Name>, apply: (next: Filters<Name>) => void] {
  const navigate = useNavigate()
  const filters = pickFilters(names, useSearch({ strict: false }))
  return [filters, (next) => void navigate({ to: '.', search: next })]
}

/** The values of a form that are filters. */
export function readFilters<Name extends string>(names: readonly Name[], form: HTMLFormElement): Filters<Name> {
  return pickFilters(names, Object.fromEntries(new FormData(form)))
}

/** The filters without some. */
export function withoutFilters<Name extends string>(filters: Filters<Name>, ...names: readonly Name[]): Filters<Name> {
  const entries = Object.entries<string | undefined>(filters)
  return Object.fromEntries(entries.filter(([name]) => !names.includes(name as Name))) as Filters<Name>
}

/** Whether two filters narrow a list alike. */
export function isSameFilters(one: Filters<string>, other: Filters<string>): boolean {
  const names = [...new Set([...Object.keys(one), ...Object.keys(other)])]
  return names.every((name) => (one[name] ?? '') === (other[name] ?? ''))
}

function pickFilters<Name extends string>(
  names: readonly Name[],
  from: Readonly<Record<string, unknown>>,
): Filters<Name> {
  const entries = names.map((name) => [name, from[name]] as const)
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string' && value !== '')) as Filters<Name>
}
