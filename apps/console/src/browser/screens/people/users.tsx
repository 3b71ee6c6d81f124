import type { User } from '@gatehouse/client'
import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { InputOf } from '../../../actions/index.ts'
import { type Filters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../parts/filters/fields.tsx'
import { FilterForm } from '../../parts/filters/filter-form.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, List } from '../../parts/table.tsx'
import { Masked } from '../../parts/values/masked.tsx'
import { State, Time, Words } from '../../parts/values/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { ExportUsers } from './export-users.tsx'
import { LockState } from './lock-state.tsx'
import { type Lookup, lookupOf, useLookup } from './lookup.ts'
import { NewUser } from './new-user.tsx'

const names = ['q', 'plan', 'role', 'locked', 'verified'] as const
type UserFilters = Filters<(typeof names)[number]>

/** The accounts: found by id, name, mail address or phone number, and by what they are. */
export function UsersScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const [lookup] = useLookup()
  const input = inputOf(filters, lookup)
  const query = usePages('searchUsers', input)
  const isFiltered = Object.keys(input).length > 0
  return (
    <Page
      title={t.sections.users}
      lead={t.users.lead}
      actions={
        <>
          {may('exportUsers') && <ExportUsers input={input} />}
          {may('createUser') && <NewUser />}
        </>
      }
    >
      <UserFilterForm filters={filters} apply={apply} />
      <List
        action="searchUsers"
        query={query}
        label={t.sections.users}
        keyOf={({ id }) => id}
        empty={<Empty text={isFiltered ? t.states.noMatch : t.users.empty} />}
        columns={useColumns()}
      />
    </Page>
  )
}

/** What is asked of the API: a flag is a text in the address. */
function inputOf({ locked, verified, ...texts }: UserFilters, lookup: Lookup = {}): InputOf<'searchUsers'> {
  return {
    ...texts,
    ...(locked === undefined ? {} : { locked: locked === 'true' }),
    ...(verified === undefined ? {} : { verified: verified === 'true' }),
    ...lookup,
  }
}

function useColumns(): readonly Column<User>[] {
  const t = useTexts()
  return [
    {
      label: t.users.id,
      render: ({ id }) => (
        <Link to="/users/$id" params={{ id }}>
          {id}
        </Link>
      ),
    },
    { label: t.users.username, render: ({ username }) => <Masked>{username}</Masked> },
    { label: t.users.email, render: ({ email }) => (email === undefined ? t.common.none : <Masked>{email}</Masked>) },
    { label: t.users.plan, render: ({ plan }) => plan },
    { label: t.users.roles, render: ({ roles }) => <Words values={roles} /> },
    {
      label: t.users.state,
      render: ({ locked, email, email_verified: verified }) => (
        <Group gap={4}>
          <LockState locked={locked} />
          {email !== undefined && !verified && <State tone="careful">{t.users.unverified}</State>}
        </Group>
      ),
    },
    {
      label: t.users.lastSignIn,
      render: ({ last_sign_in_at: at }) => (at === undefined ? t.common.never : <Time at={at} />),
    },
  ]
}

interface UserFilterFormProps {
  readonly filters: UserFilters
  readonly apply: (filters: UserFilters) => void
}

/** The filters of the users. A mail address or a phone number opens a lookup, which no address and no view has. */
function UserFilterForm({ filters, apply }: UserFilterFormProps) {
  const t = useTexts()
  const [lookup, open] = useLookup()
  const q = lookup?.email ?? lookup?.phone_number ?? filters.q
  const yesOrNo = (yes: string, no: string) => [
    { value: 'true', label: yes },
    { value: 'false', label: no },
  ]
  const hint = (
    <Text size="xs" c="dimmed" mt="xs">
      {t.users.lookupHint}
    </Text>
  )
  return (
    <FilterForm
      screen="/users"
      names={names}
      filters={{ ...filters, ...(q === undefined ? {} : { q }) }}
      personal={['q']}
      apply={(next) => {
        const found = next.q === undefined ? undefined : lookupOf(next.q.trim())
        if (found === undefined) apply(next)
        else open(found)
      }}
      below={hint}
    >
      <TextFilter name="q" type="search" label={t.users.find} autoComplete="off" className="grow" />
      <TextFilter name="plan" label={t.users.plan} w={110} />
      <TextFilter name="role" label={t.users.role} w={150} />
      <ChoiceFilter
        name="locked"
        label={t.users.lock}
        every={t.users.any}
        data={yesOrNo(t.users.locked, t.users.active)}
      />
      <ChoiceFilter
        name="verified"
        label={t.users.address}
        every={t.users.any}
        data={yesOrNo(t.users.verified, t.users.unverified)}
      />
    </FilterForm>
  )
}
