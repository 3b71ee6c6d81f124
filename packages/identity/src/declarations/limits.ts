import type { Log } from '@gatehouse/kit'
import type { DeclaredLimits, LimitRules } from '../config/limit-rules.ts'
import { isSame, type LimitDocument, type LimitVersion, mergeFile } from '../model/limit-settings.ts'
import type { IdentityStore, NewLimitVersion } from '../store/index.ts'

interface FileContext {
  readonly store: Pick<IdentityStore, 'limitVersions'>
  readonly clock: { now(): number }
  readonly log: Log
}

/**
 * Appends a version for what was edited in the file since it was last applied. Tiers and policies that the file leaves
 * alone stay as they were edited at run time. If that makes no valid document, the whole file applies: the last edit
 * wins. Where there is no file, stored limits stay as they are: nobody removed anything from it.
 */
export async function applyLimitsOfFile(
  { store, clock, log }: FileContext,
  rules: Pick<LimitRules, 'check'>,
  { document: file, isDeclared, isMissing = false }: DeclaredLimits,
): Promise<void> {
  if (isMissing && (await store.limitVersions.current()) !== undefined) return
  const toVersion = (document: LimitDocument, comment: string): NewLimitVersion => ({
    document,
    origin: 'file',
    comment,
    createdAt: clock.now(),
  })
  const merge = (current: LimitVersion | undefined, before: LimitDocument | undefined): NewLimitVersion | undefined => {
    if (before === undefined) return isDeclared ? toVersion(file, 'The limits of the file.') : undefined
    if (isSame(before, file)) return undefined
    const merged = mergeFile(current?.document ?? before, before, file)
    const fault = rules.check(merged)
    if (fault !== undefined) {
      log.warn(
        { fault: fault.detail },
        'limits of the file do not fit those that were edited at run time: the whole file applies',
      )
      return toVersion(file, 'The file was edited. Edits at run time did not fit it.')
    }
    return isSame(current?.document, merged) ? undefined : toVersion(merged, 'The file was edited.')
  }
  await store.limitVersions.applyFile(file, merge)
}
