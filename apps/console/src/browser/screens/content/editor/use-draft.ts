import { PreconditionFailedError, type TemplateText } from '@gatehouse/client'
import { notifications } from '@mantine/notifications'
import { useState } from 'react'
import { callOperation } from '../../../api/call.ts'
import { useChange } from '../../../api/versioned.ts'
import { useKeeping, useKept } from '../../../forms/keeping.ts'
import { tagOfKept } from '../../../forms/kept-state.ts'
import { useTexts } from '../../../texts/settings.tsx'
import { type Draft, draftOf, isSame, type Place, wordsOf } from './draft.ts'
import { readSource, type Source } from './use-source.ts'

/** Somebody else changed the text since it was read: what they made of it, and what was to be done. */
export interface Conflict {
  readonly theirs: Source
  readonly publish: boolean
  /** The stored version that was to be put into use, in place of what is being written. */
  readonly version?: TemplateText
}

/** What is being written, and what can be done with it. */
export interface DraftState {
  readonly draft: Draft
  readonly source: Source
  readonly isChanged: boolean
  readonly isBusy: boolean
  readonly comment: string
  readonly error: Error | null
  readonly conflict: Conflict | undefined
  change(draft: Draft): void
  setComment(comment: string): void
  /** Stores the draft as a new version. */
  save(publish: boolean): void
  /** Puts a stored version into use. */
  publishVersion(version: number): void
  /** Leaves mine for theirs. Where a stored version was to be put into use, what is being written stays. */
  takeTheirs(): void
  /** Stores mine as a version after theirs, or puts the stored version into use. */
  keepMine(): void
  closeConflict(): void
  /** Reads what is stored again, and leaves what is being written as it is. */
  reload(): void
}

/** The draft of a text. A change by somebody else in between is a conflict, and is not written over. */
export function useDraft(place: Place, first: Source): DraftState {
  const t = useTexts()
  const { draft, comment, source, isChanged, setSource, change, setComment } = useWritten(place, first)
  const [conflict, setConflict] = useState<Conflict>()
  const saving = useChange('saveText')
  const publishing = useChange('publishText')
  const meet = async (error: Error, publish: boolean) => {
    if (error instanceof PreconditionFailedError) setConflict({ theirs: await readSource(place), publish })
  }
  const meetVersion = async (error: Error, number: number) => {
    if (!(error instanceof PreconditionFailedError)) return
    const theirs = await readSource(place)
    const version = await callOperation('templates.versions.get', { ...place, version: number })
    setConflict({ theirs, publish: true, version })
  }
  /** Goes on from what the dialog of a conflict showed; what is being written behind it stays. */
  const goOnFrom = (stored: Source) => {
    setSource(stored)
    if (!isChanged) change(draftOf(stored.text))
  }
  const store = (publish: boolean, etag: string | undefined) => {
    const body = { ...wordsOf(draft, place.channel), publish, ...(comment === '' ? {} : { comment }) }
    saving.mutate(
      { input: { ...place, body }, ifMatch: etag },
      {
        onSuccess: ({ value, etag: next }) => {
          setSource({ text: value, etag: next })
          setComment('')
          setConflict(undefined)
          notifications.show({ message: publish ? t.editor.published : t.editor.saved, color: 'green' })
        },
        onError: (error) => void meet(error, publish),
      },
    )
  }
  const publishStored = (version: number, { text, etag }: Source, goOn: (stored: Source) => void) =>
    publishing.mutate(
      { input: { ...place, version }, ifMatch: etag },
      {
        onSuccess: ({ etag: next }) => {
          goOn({ text: text && { ...text, published: text.version === version }, etag: next })
          setConflict(undefined)
          notifications.show({ message: t.editor.publishedVersion(version), color: 'green' })
        },
        onError: (error) => void meetVersion(error, version),
      },
    )
  return {
    draft,
    source,
    isChanged,
    isBusy: saving.isPending || publishing.isPending,
    comment,
    error: saving.error ?? publishing.error,
    conflict,
    change,
    setComment,
    save: (publish) => store(publish, source.etag),
    publishVersion: (version) => publishStored(version, source, setSource),
    takeTheirs() {
      if (conflict === undefined) return
      goOnFrom(conflict.theirs)
      if (conflict.version === undefined) change(draftOf(conflict.theirs.text))
      setConflict(undefined)
    },
    keepMine() {
      if (conflict === undefined) return
      if (conflict.version !== undefined) return publishStored(conflict.version.version, conflict.theirs, goOnFrom)
      setSource(conflict.theirs)
      store(conflict.publish, conflict.theirs.etag)
    },
    closeConflict: () => setConflict(undefined),
    reload: () => void readSource(place, source.text?.version).then(setSource, () => {}),
  }
}

/** What is written, and what it was made from: what is not stored yet is there again after a sign-in. */
function useWritten(place: Place, first: Source) {
  const name = `text ${JSON.stringify(place)}`
  const kept = useKept<{ draft: Draft; comment: string }>(name)
  const [draft, change] = useState(kept?.values.draft ?? draftOf(first.text ?? first.copied))
  const [comment, setComment] = useState(kept?.values.comment ?? '')
  // A draft that comes back from a sign-in was made from what was stored before it.
  const etag = kept === undefined ? first.etag : tagOfKept(kept.etag ?? '', first.etag)
  const [source, setSource] = useState<Source>({ ...first, etag })
  const isChanged = !isSame(draft, draftOf(source.text))
  const isTyped = isChanged || comment !== ''
  useKeeping(name, () => (isTyped ? { values: { draft, comment }, etag: source.etag ?? '' } : undefined))
  return { draft, comment, source, isChanged, setSource, change, setComment }
}
