import type { Suppression } from '@gatehouse/client'
import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../actions/index.ts'
import { readFilters, useFilters } from '../../api/filters.ts'
import { usePages } from '../../api/queries.ts'
import { useMay } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { Empty } from '../../parts/states.tsx'
import { List } from '../../parts/table.tsx'
import { State, Time } from '../../parts/values.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { UserLink } from './scheduled-list.tsx'
import { AddSuppression } from './suppression-add.tsx'
import { SuppressionGrowth } from './suppression-growth.tsx'
import { LiftSuppression, LiftSuppressions } from './suppression-lift.tsx'

const names = ['user_id', 'channel', 'reason', 'scope'] as const

/** Addresses that receive nothing, and why. An address that is looked for is in no URL. */
export function SuppressionsScreen() {
  const t = useTexts()
  const may = useMay()
  const [filters, apply] = useFilters(names)
  const [address, setAddress] = useState('')
  const reasons = Object.entries(t.suppressions.reasons).map(([value, label]) => ({ value, label }))
  const selection = { ...filters, ...(address === '' ? {} : { address }) }
  const isFiltered = Object.keys(selection).length > 0
  return (
    <Page
      title={t.sections.suppressions}
      lead={t.suppressions.lead}
      actions={may('addSuppression') && <AddSuppression />}
    >
      <form
        key={JSON.stringify(selection)}
        aria-label={t.audit.filters}
        onSubmit={(event) => {
          event.preventDefault()
          setAddress(String(new FormData(event.currentTarget).get('address') ?? '').trim())
          apply(readFilters(names, event.currentTarget))
        }}
      >
        <Group align="flex-end" gap="xs">
          <TextInput name="address" label={t.suppressions.address} defaultValue={address} w={200} autoComplete="off" />
          <TextInput name="user_id" label={t.suppressions.user} defaultValue={filters.user_id ?? ''} w={160} />
          <TextInput name="scope" label={t.suppressions.scope} defaultValue={filters.scope ?? ''} w={160} />
          <NativeSelect
            name="reason"
            label={t.suppressions.reason}
            defaultValue={filters.reason ?? ''}
            data={[{ value: '', label: t.suppressions.everyReason }, ...reasons]}
          />
          <NativeSelect
            name="channel"
            label={t.suppressions.channel}
            defaultValue={filters.channel ?? ''}
            data={[{ value: '', label: t.suppressions.everyChannel }, 'push', 'email', 'sms', 'in-app']}
          />
          <Button type="submit">{t.common.search}</Button>
          {isFiltered && (
            <Button
              variant="subtle"
              onClick={() => {
                setAddress('')
                apply({})
              }}
            >
              {t.common.clear}
            </Button>
          )}
          {isFiltered && may('liftSuppressions') && <LiftSuppressions selection={selection} />}
        </Group>
      </form>
      <SuppressionGrowth />
      <SuppressionList selection={selection} />
    </Page>
  )
}

function SuppressionList({ selection }: { selection: Readonly<Record<string, string>> }) {
  const t = useTexts()
  const query = usePages('searchSuppressions', selection as InputOf<'searchSuppressions'>)
  return (
    <List
      action="searchSuppressions"
      query={query}
      label={t.sections.suppressions}
      keyOf={({ id }) => id}
      empty={<Empty text={Object.keys(selection).length === 0 ? t.suppressions.empty : t.states.noMatch} />}
      columns={[
        {
          label: t.suppressions.address,
          render: ({ address }) => (address === '*' ? t.suppressions.anyAddress : address),
        },
        { label: t.suppressions.channel, render: ({ channel }) => channel },
        { label: t.suppressions.user, render: ({ user_id }) => <UserLink id={user_id} /> },
        { label: t.suppressions.scope, render: ({ scope }) => (scope === '*' ? t.suppressions.all : scope) },
        { label: t.suppressions.reason, render: (each) => <Reason suppression={each} /> },
        { label: t.suppressions.since, render: ({ since }) => <Time at={since} /> },
        { label: t.suppressions.until, render: ({ expires_at }) => <Time at={expires_at} /> },
        { label: t.common.actions, isAction: true, render: (each) => <LiftSuppression suppression={each} /> },
      ]}
    />
  )
}

function Reason({ suppression: { reason, detail } }: { suppression: Suppression }) {
  const t = useTexts()
  const reasons: Readonly<Record<string, string>> = t.suppressions.reasons
  return (
    <Stack gap={2} align="flex-start">
      <State tone={reason === 'complained' ? 'bad' : 'neutral'}>{reasons[reason] ?? reason}</State>
      {detail !== undefined && (
        <Text size="xs" c="dimmed">
          {detail}
        </Text>
      )}
    </Stack>
  )
}
