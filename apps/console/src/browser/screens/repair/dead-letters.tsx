import { Button, Group, NativeSelect, Pill, Stack, TextInput, Title } from '@mantine/core'
import { readFilters, useFilters } from '../../api/filters.ts'
import { useMay } from '../../api/session.tsx'
import { Page } from '../../parts/page.tsx'
import { useTexts } from '../../texts/settings.tsx'
import { LetterGroups } from './letter-groups.tsx'
import { LetterList } from './letter-list.tsx'
import { ReplayProgress } from './replay-progress.tsx'
import { ReplaySelected } from './replay-selected.tsx'
import { addressNames, groupings, type LetterAddress, selectionOf } from './selection.ts'

const typed = ['event', 'user_id', 'channel'] as const

/** What failed for good: by cause, provider, event and error, and the way to deliver it again. */
export function DeadLettersScreen() {
  const t = useTexts()
  const may = useMay()
  const [address, apply] = useFilters(addressNames)
  const { replay } = address
  return (
    <Page title={t.sections.deadLetters} lead={t.deadLetters.lead}>
      {replay !== undefined && (
        <ReplayProgress key={replay} batchId={replay} hide={() => apply(without(address, 'replay'))} />
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
  const chosen = groupings.flatMap((name) => {
    const value = address[name]
    return value === undefined || name === 'event' ? [] : [{ name, value }]
  })
  const isFiltered = Object.keys(selectionOf(address)).length > 0
  return (
    <form
      key={JSON.stringify(address)}
      aria-label={t.audit.filters}
      onSubmit={(event) => {
        event.preventDefault()
        const kept = typed.reduce<LetterAddress>((left, name) => without(left, name), address)
        apply({ ...kept, ...readFilters(typed, event.currentTarget) })
      }}
    >
      <Group align="flex-end" gap="xs">
        <TextInput name="event" label={t.deadLetters.event} defaultValue={address.event ?? ''} w={180} />
        <TextInput name="user_id" label={t.deadLetters.user} defaultValue={address.user_id ?? ''} w={180} />
        <NativeSelect
          name="channel"
          label={t.deadLetters.channel}
          defaultValue={address.channel ?? ''}
          data={[{ value: '', label: t.deadLetters.everyChannel }, 'push', 'email', 'sms', 'in-app']}
        />
        <Button type="submit" variant="default">
          {t.common.search}
        </Button>
        {isFiltered && (
          <Button variant="subtle" onClick={() => apply({ ...(address.by === undefined ? {} : { by: address.by }) })}>
            {t.common.clear}
          </Button>
        )}
      </Group>
      {chosen.length > 0 && (
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
              onRemove={() => apply(without(address, name))}
            >
              {t.deadLetters[name]}: {value}
            </Pill>
          ))}
        </Group>
      )}
    </form>
  )
}

function without(address: LetterAddress, name: keyof LetterAddress): LetterAddress {
  const { [name]: _, ...rest } = address
  return rest
}
