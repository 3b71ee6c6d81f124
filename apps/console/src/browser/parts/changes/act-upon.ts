import { ConflictError, NotFoundError, PreconditionFailedError } from '@gatehouse/client'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { ActionId, InputOf, OutputOf } from '../../../actions/index.ts'
import { type Complete, readAgain } from '../../api/queries.ts'
import { useChange, type Versioned } from '../../api/versioned.ts'

/** What an action is done to, as it is shown. */
export type Shown = Versioned<object>

/** What somebody else changed between the opening of a dialog and its confirmation. */
export interface Outdated {
  readonly before: object
  /** Undefined until it is read again. */
  readonly now: object | undefined
}

/** Whether what is stored now is still being read. */
export function isUnread(outdated: Outdated | undefined): boolean {
  return outdated !== undefined && outdated.now === undefined
}

interface Handlers<Id extends ActionId> {
  readonly onSuccess: (answer: OutputOf<Id>) => void
  readonly onError?: (error: Error) => void
}

/**
 * An action that is done only to what the person saw: where somebody else changed it since, it is refused (412), read
 * again, and done to that when it is confirmed once more. Without `shown` it is done whatever is stored.
 */
export function useActUpon<Id extends ActionId>(action: Id, shown: Shown | undefined, complete?: Complete<Id>) {
  const client = useQueryClient()
  const { mutate, reset, error, isPending } = useChange(action, complete)
  const [seen, setSeen] = useState(shown)
  const [isRead, setRead] = useState(false)
  const isOutdated = error instanceof PreconditionFailedError && seen !== undefined
  const outdated: Outdated | undefined = isOutdated
    ? { before: seen.value, now: isRead ? (shown?.value ?? {}) : undefined }
    : undefined
  return {
    error,
    isPending,
    outdated,
    reset,
    /** The person sees now what is shown. */
    look() {
      reset()
      setSeen(shown)
    },
    /** Reads again what is shown where the action was refused because it is not so any more (404, 409). */
    giveUp() {
      if (error instanceof NotFoundError || error instanceof ConflictError) void readAgain(client, action)
    },
    run(input: InputOf<Id>, { onSuccess, onError }: Handlers<Id>, upon = isOutdated ? shown : seen) {
      setSeen(upon)
      setRead(false)
      mutate(
        { input, ifMatch: upon?.etag },
        {
          onSuccess: ({ value }) => onSuccess(value),
          onError: (failure) => {
            if (failure instanceof PreconditionFailedError) void readAgain(client, action).finally(() => setRead(true))
            onError?.(failure)
          },
        },
      )
    },
  }
}
