import type { User } from '@gatehouse/client'
import { Button, Group, NativeSelect, Text, TextInput } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { InputOf } from '../../../actions/index.ts'
import { type Filters, readFilters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Masked } from '../../parts/masked.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { type Column, List } from '../../parts/table.tsx'
import { State, Time, Words } from '../../parts/values.tsx'
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
  const [lookup, open] = useLookup()
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
      <UserSearch
        key={JSON.stringify(input)}
        filters={filters}
        lookup={lookup}
        onSearch={(next, text) => {
          const found = lookupOf(text)
          if (found === undefined) apply({ ...next, ...(text === '' ? {} : { q: text }) })
          else open(found)
        }}
        onClear={isFiltered ? () => apply({}) : undefined}
      />
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

interface UserSearchProps {
  readonly filters: UserFilters
  readonly lookup: Lookup | undefined
  readonly onSearch: (filters: UserFilters, text: string) => void
  readonly onClear: (() => void) | undefined
}

function UserSearch({ filters, lookup, onSearch, onClear }: UserSearchProps) {
  const t = useTexts()
  const yesOrNo = (yes: string, no: string) => [
    { value: '', label: t.users.any },
    { value: 'true', label: yes },
    { value: 'false', label: no },
  ]
  return (
    <form
      className="panel"
      aria-label={t.audit.filters}
      onSubmit={(event) => {
        event.preventDefault()
        const form = event.currentTarget
        const text = String(new FormData(form).get('text') ?? '').trim()
        const { q: _q, ...rest } = readFilters(names, form)
        onSearch(rest, text)
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          name="text"
          type="search"
          label={t.users.find}
          defaultValue={lookup?.email ?? lookup?.phone_number ?? filters.q ?? ''}
          autoComplete="off"
          className="grow"
        />
        <TextInput name="plan" label={t.users.plan} defaultValue={filters.plan ?? ''} w={110} />
        <TextInput name="role" label={t.users.role} defaultValue={filters.role ?? ''} w={150} />
        <NativeSelect
          name="locked"
          label={t.users.lock}
          defaultValue={filters.locked ?? ''}
          data={yesOrNo(t.users.locked, t.users.active)}
        />
        <NativeSelect
          name="verified"
          label={t.users.address}
          defaultValue={filters.verified ?? ''}
          data={yesOrNo(t.users.verified, t.users.unverified)}
        />
        <Button type="submit">{t.common.search}</Button>
        {onClear !== undefined && (
          <Button variant="subtle" onClick={onClear}>
            {t.common.clear}
          </Button>
        )}
      </Group>
      <Text size="xs" c="dimmed" mt="xs">
        {t.users.lookupHint}
      </Text>
    </form>
  )
}
