import type { Suppression } from '@gatehouse/client'
import { Stack, Text } from '@mantine/core'
import { useState } from 'react'
import type { InputOf } from '../../../../actions/index.ts'
import { useFilters } from '../../../api/filters.ts'
import { usePages } from '../../../api/queries.ts'
import { useMay } from '../../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { Page } from '../../../parts/page.tsx'
import { Empty } from '../../../parts/states.tsx'
import { List } from '../../../parts/table.tsx'
import { State, Time } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { UserLink } from '../queues/scheduled-list.tsx'
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
      <FilterForm
        screen="/suppressions"
        names={['address', ...names]}
        filters={selection}
        personal={['address']}
        apply={({ address: next, ...others }) => {
          setAddress(next ?? '')
          apply(others)
        }}
        actions={isFiltered && may('liftSuppressions') && <LiftSuppressions selection={selection} />}
      >
        <TextFilter name="address" label={t.suppressions.address} w={200} autoComplete="off" />
        <TextFilter name="user_id" label={t.suppressions.user} w={160} />
        <TextFilter name="scope" label={t.suppressions.scope} w={160} />
        <ChoiceFilter name="reason" label={t.suppressions.reason} every={t.suppressions.everyReason} data={reasons} />
        <ChoiceFilter
          name="channel"
          label={t.suppressions.channel}
          every={t.suppressions.everyChannel}
          data={['push', 'email', 'sms', 'in-app']}
        />
      </FilterForm>
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
