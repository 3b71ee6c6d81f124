import { Button, Group, Text } from '@mantine/core'
import type { FormEvent, ReactNode } from 'react'
import { type Filters, isSameFilters, readFilters, withoutFilters } from '../../api/filters.ts'
import { useReadAgain } from '../../api/read-again.ts'
import { useTexts } from '../../texts/settings.tsx'
import { TimeOfDay } from '../values/values.tsx'
import { FiltersContext } from './fields.tsx'
import { SavedViews } from './saved-views.tsx'

interface FilterFormProps<Name extends string> {
  /** The path of the screen that the saved views are of. */
  readonly screen: string
  /** The names of the fields. What is applied under another name stays when the form is submitted. */
  readonly names: readonly Name[]
  /** The names of those that are times: they are typed as local time and applied as instants. */
  readonly times?: readonly Name[]
  readonly filters: Filters<Name>
  readonly apply: (next: Filters<Name>) => void
  /** What stays when the filters are cleared, such as the tab. */
  readonly base?: Filters<Name>
  /** The names of those that no view keeps: what is personal would outlive the erasure of its person. */
  readonly personal?: readonly Name[]
  /** What else is done with what matches. */
  readonly actions?: ReactNode
  /** Fields that are used seldom, and hints. */
  readonly below?: ReactNode
  /** Another way to find something, which is a form of its own. */
  readonly another?: ReactNode
  /** The fields. */
  readonly children: ReactNode
}

/**
 * The filters of a list: fields that apply when they are submitted, and the views that the person saved. Submitted as
 * they are, they read the page again.
 */
export function FilterForm<Name extends string>(props: FilterFormProps<Name>) {
  const {
    screen,
    names,
    times = [],
    filters,
    apply,
    base = {},
    personal = [],
    actions,
    below,
    another,
    children,
  } = props
  const t = useTexts()
  const applied = JSON.stringify(filters)
  const again = useReadAgain(applied)
  const isFiltered = Object.keys(filters).some((name) => !(name in base))
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const typed = readFilters(names, event.currentTarget)
    const next = { ...withoutFilters(filters, ...names), ...typed, ...instantsOf(typed, times) }
    if (isSameFilters(next, filters)) again.read()
    else apply(next)
  }
  return (
    <div className="panel filters">
      <form key={applied} aria-label={t.common.filters} onSubmit={submit}>
        <FiltersContext value={filters}>
          <Group align="flex-end" gap="xs">
            {children}
            <Button type="submit" loading={again.isReading}>
              {t.common.search}
            </Button>
            {isFiltered && (
              <Button variant="subtle" onClick={() => apply(base)}>
                {t.common.clear}
              </Button>
            )}
            {actions}
          </Group>
          {below}
          <Text size="xs" c="dimmed" className="read-again" aria-live="polite">
            {again.readAt !== undefined && (
              <>
                {t.common.readAgain} <TimeOfDay at={again.readAt} />
              </>
            )}
          </Text>
        </FiltersContext>
      </form>
      <SavedViews screen={screen} filters={filters} personal={personal} apply={apply} />
      {another !== undefined && <div className="another">{another}</div>}
    </div>
  )
}

/** The times among typed filters: as instants, an address means the same everywhere. */
function instantsOf<Name extends string>(typed: Filters<Name>, times: readonly Name[]): Filters<Name> {
  const entries = times.map((name) => [name, typed[name]] as const)
  const instants = entries.flatMap(([name, at]) => (at === undefined ? [] : [[name, new Date(at).toISOString()]]))
  return Object.fromEntries(instants) as Filters<Name>
}
