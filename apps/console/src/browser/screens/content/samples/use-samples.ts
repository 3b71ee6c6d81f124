import { PreconditionFailedError, type TemplateSample } from '@gatehouse/client'
import { notifications } from '@mantine/notifications'
import { useChange, useVersioned } from '../../../api/versioned.ts'
import { useKeptState } from '../../../forms/kept-state.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { parseData } from '../editor/draft.ts'

/** The data that previews are made with, and the samples that are kept. */
export interface SampleState {
  readonly text: string
  /** Undefined while the text is no JSON object. */
  readonly data: Readonly<Record<string, unknown>> | undefined
  readonly samples: readonly TemplateSample[]
  readonly error: Error | null
  /** Somebody else changed the samples before they were saved; theirs are shown now. */
  readonly isOutdated: boolean
  readonly isBusy: boolean
  setText(text: string): void
  /** Keeps the data under a name, in the place of a sample of that name. */
  keep(name: string): void
  remove(name: string): void
}

/** The sample data of a template. The first sample is used until something else is written. */
export function useSampleState(templateId: string): SampleState {
  const t = useTexts()
  const input = { template_id: templateId }
  const query = useVersioned('readSamples', input)
  const saving = useChange('saveSamples')
  const [{ written }, write] = useKeptState<{ written?: string }>(`samples ${templateId}`, {})
  const samples = query.data?.value.items ?? []
  const text = written ?? JSON.stringify(samples[0]?.data ?? {}, null, 2)
  const data = parseData(text)
  const store = (items: readonly TemplateSample[]) =>
    saving.mutate(
      { input: { ...input, items }, ifMatch: query.data?.etag },
      {
        onSuccess: () => notifications.show({ message: t.editor.samplesSaved, color: 'green' }),
        // Whoever was refused sees what the other kept, and may try again.
        onError: (error) => error instanceof PreconditionFailedError && void query.refetch(),
      },
    )
  return {
    text,
    data,
    samples,
    error: saving.error,
    isOutdated: saving.error instanceof PreconditionFailedError,
    isBusy: saving.isPending,
    setText: (next) => write({ written: next }),
    keep(name) {
      if (data !== undefined) store([...samples.filter((sample) => sample.name !== name), { name, data }])
    },
    remove: (name) => store(samples.filter((sample) => sample.name !== name)),
  }
}
