import { Group, Pill, Stack, Title } from '@mantine/core'
import { useFilters, withoutFilters } from '../../../api/filters.ts'
import { useMay } from '../../../api/session.tsx'
import { ChoiceFilter, TextFilter } from '../../../parts/filters/fields.tsx'
import { FilterForm } from '../../../parts/filters/filter-form.tsx'
import { Page } from '../../../parts/page.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import { LetterGroups } from './letter-groups.tsx'
import { LetterList } from './letter-list.tsx'
import { ReplayProgress } from './replay-progress.tsx'
import { ReplaySelected } from './replay-selected.tsx'
import { addressNames, groupings, type LetterAddress, selectionOf } from './selection.ts'

/** What failed for good: by cause, provider, event and error, and the way to deliver it again. */
export function DeadLettersScreen() {
  const t = useTexts()
  const may = useMay()
  const [address, apply] = useFilters(addressNames)
  const { replay } = address
  return (
    <Page title={t.sections.deadLetters} lead={t.deadLetters.lead}>
      {replay !== undefined && (
        <ReplayProgress key={replay} batchId={replay} hide={() => apply(withoutFilters(address, 'replay'))} />
      )}
      <LetterGroups address={address} apply={apply} />
      <Stack component="section" aria-labelledby="letters" gap="md">
        <Title order={2} id="letters">
          {t.deadLetters.letters}
        </Title>
        <LetterFilters address={address} apply={apply} />
        {may('replayDeadLetters') && <ReplaySelected address={address} apply={apply} />}
        <LetterList selection={selectionOf(address)} />
      </Stack>
    </Page>
  )
}

interface AddressProps {
  readonly address: LetterAddress
  readonly apply: (next: LetterAddress) => void
}

/** Which letters: what was chosen of a group stands there to be taken back, the rest is typed. */
function LetterFilters({ address, apply }: AddressProps) {
  const t = useTexts()
  const { replay, ...filters } = address
  const channels = ['push', 'email', 'sms', 'in-app']
  return (
    <FilterForm<keyof LetterAddress>
      screen="/dead-letters"
      names={['event', 'user_id', 'channel']}
      filters={filters}
      apply={(next) => apply({ ...next, ...(replay === undefined ? {} : { replay }) })}
      base={address.by === undefined ? {} : { by: address.by }}
      below={<ChosenGroup address={address} apply={apply} />}
    >
      <TextFilter name="event" label={t.deadLetters.event} w={180} />
      <TextFilter name="user_id" label={t.deadLetters.user} w={180} />
      <ChoiceFilter name="channel" label={t.deadLetters.channel} every={t.deadLetters.everyChannel} data={channels} />
    </FilterForm>
  )
}

/** What was chosen of a group, each with the way to take it back. */
function ChosenGroup({ address, apply }: AddressProps) {
  const t = useTexts()
  const chosen = groupings.flatMap((name) => {
    const value = address[name]
    return value === undefined || name === 'event' ? [] : [{ name, value }]
  })
  if (chosen.length === 0) return null
  return (
    <Group gap="xs" mt="sm">
      {chosen.map(({ name, value }) => (
        <Pill
          key={name}
          size="md"
          withRemoveButton
          removeButtonProps={{
            'aria-label': `${t.common.clear}: ${t.deadLetters[name]}`,
            tabIndex: 0,
            'aria-hidden': false,
          }}
          onRemove={() => apply(withoutFilters(address, name))}
        >
          {t.deadLetters[name]}: {value}
        </Pill>
      ))}
    </Group>
  )
}
