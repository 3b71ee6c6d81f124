import { Alert, Button, Group, Stack, Text, TextInput } from '@mantine/core'
import { useAction } from '../../../api/queries.ts'
import { findJsonFault } from '../../../forms/json-fault.ts'
import { useJsonWords } from '../../../forms/use-json-words.ts'
import { Refusal } from '../../../parts/changes/refusal.tsx'
import { Dialog } from '../../../parts/dialog.tsx'
import { Json, State } from '../../../parts/values/values.tsx'
import { useTexts } from '../../../texts/settings.tsx'
import type { SampleState } from '../samples/use-samples.ts'
import { type Place, wordsOf } from './draft.ts'
import type { DraftState } from './use-draft.ts'

/** To whom it is sent, and whether the dialog is open. */
export interface TestForm {
  readonly open: boolean
  readonly userId: string
}

interface TestSendProps {
  readonly place: Place
  readonly state: DraftState
  readonly samples: SampleState
  readonly form: TestForm
  readonly change: (changed: Partial<TestForm>) => void
}

/** Sends what is in the editor to one user, with the sample data. Nothing is stored. */
export function TestSend({ place, state, samples, form: { open, userId }, change }: TestSendProps) {
  const t = useTexts()
  const jsonWords = useJsonWords()
  const mutation = useAction('testTemplate')
  const send = () =>
    mutation.mutate({ ...place, user_id: userId, data: samples.data ?? {}, draft: wordsOf(state.draft, place.channel) })
  const leave = () => {
    mutation.reset()
    change({ open: false })
  }
  return (
    <Dialog title={t.editor.test} open={open} close={leave}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          send()
        }}
      >
        <Stack>
          <Text size="sm">{t.editor.testText}</Text>
          <TextInput
            label={t.why.user}
            value={userId}
            onChange={({ currentTarget }) => change({ userId: currentTarget.value })}
            required
            maxLength={256}
            data-autofocus
          />
          {samples.data === undefined && <Alert color="red">{jsonWords(findJsonFault(samples.text))}</Alert>}
          <Refusal error={mutation.error} />
          {mutation.data !== undefined && <Results results={mutation.data.results} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={leave}>
              {t.common.close}
            </Button>
            <Button type="submit" loading={mutation.isPending} disabled={samples.data === undefined}>
              {t.editor.send}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  )
}

/** What the providers answered, one result for each device or address. */
function Results({ results }: { results: readonly Readonly<Record<string, unknown>>[] }) {
  const t = useTexts()
  return (
    <Stack gap="xs" role="status">
      {results.map((result, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: results of one call, which never move
        <details key={index}>
          <summary>
            <State tone={result.kind === 'accepted' ? 'good' : 'bad'}>
              {result.kind === 'accepted' ? t.editor.accepted(String(result.provider ?? '')) : String(result.kind)}
            </State>{' '}
            {typeof result.reason === 'string' && <Text span>{result.reason}</Text>}
          </summary>
          <Json label={t.editor.test} value={result} />
        </details>
      ))}
    </Stack>
  )
}
