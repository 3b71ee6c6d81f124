interface AuditEnd {
  /** Until when retention removed events. */
  readonly removedBefore: string | undefined
  /** Whether the list goes on. */
  readonly hasNext: boolean
  /** The filter of the time from which events are listed. */
  readonly since: string | undefined
}

/** The time before which events are missing behind the end of a list, newest first; undefined where none are. */
export function gapBefore({ removedBefore, hasNext, since }: AuditEnd): string | undefined {
  if (removedBefore === undefined || hasNext) return undefined
  return since !== undefined && Date.parse(since) >= Date.parse(removedBefore) ? undefined : removedBefore
}
