import { ApiError } from '@gatehouse/client'
import { Alert, Button, Code, Group, Skeleton, Stack, Text } from '@mantine/core'
import type { UseQueryResult } from '@tanstack/react-query'
import { type ReactNode, useEffect, useState } from 'react'
import { type ActionId, actions } from '../../actions/index.ts'
import { isSignedOut, unreachableService } from '../api/problem.ts'
import type { Texts } from '../texts/en.ts'
import { useTexts } from '../texts/settings.tsx'

type Query<Answer> = Pick<UseQueryResult<Answer>, 'data' | 'error' | 'isPending' | 'refetch'> & {
  /** Of a list: its next page could not be read, which is said where it was asked for. */
  readonly isFetchNextPageError?: boolean
}

interface AnswerProps<Answer> {
  /** The action that reads it, for the roles that have it. */
  readonly action: ActionId
  readonly query: Query<Answer>
  readonly children: (answer: Answer) => ReactNode
}

/** What a query answered, or that it is loading, failed or is not allowed: the same on every screen. */
export function Answer<Data>({ action, query, children }: AnswerProps<Data>) {
  const { data, error, isPending, refetch, isFetchNextPageError } = query
  if (data !== undefined)
    return (
      <>
        {isFetchNextPageError !== true && <Outdated error={error} retry={refetch} />}
        {children(data)}
      </>
    )
  if (isPending || isSignedOut(error)) return <Loading />
  return <Failed action={action} error={error} retry={refetch} />
}

/** What is shown is older than it seems, since it could not be read again. */
export function Outdated({ error, retry }: { error: Error | null; retry: () => unknown }) {
  const t = useTexts()
  if (error === null || isSignedOut(error)) return null
  return <Fault title={t.states.outdated} text={reasonOf(error, t)} requestId={requestIdOf(error)} retry={retry} />
}

/** Why a call failed, in words. */
export function reasonOf(error: unknown, { states }: Texts): string {
  if (!(error instanceof ApiError)) return states.offline
  const service = unreachableService(error)
  return service === undefined ? error.message : states.unreachable(service)
}

function requestIdOf(error: unknown): string | undefined {
  return error instanceof ApiError ? error.requestId : undefined
}

/** The outline of what comes, after a moment. */
export function Loading() {
  const t = useTexts()
  return (
    <Stack gap="sm" className="late" role="status" aria-label={t.common.loading}>
      {[100, 90, 95, 70].map((width) => (
        <Skeleton key={width} height={22} width={`${width}%`} />
      ))}
    </Stack>
  )
}

interface FailedProps {
  readonly action: ActionId
  readonly error: unknown
  readonly retry: () => unknown
}

/** A region that could not be loaded: what is wrong, for the person and for the operator. */
export function Failed({ action, error, retry }: FailedProps) {
  const t = useTexts()
  if (error instanceof ApiError) {
    if (error.status === 403) return <Forbidden action={action} detail={error.message} />
    if (error.status === 404) return <Empty text={t.states.notFound} />
    if (error.status === 429) return <Limited seconds={error.retryAfterSeconds ?? 5} retry={retry} />
  }
  return <Fault title={t.states.failed} text={reasonOf(error, t)} requestId={requestIdOf(error)} retry={retry} />
}

interface FaultProps {
  readonly title: string
  readonly text: string
  readonly requestId?: string | undefined
  readonly retry: () => unknown
}

function Fault({ title, text, requestId, retry }: FaultProps) {
  const t = useTexts()
  return (
    <Alert color="red" title={title} role="alert">
      <Text size="sm">{text}</Text>
      {requestId !== undefined && (
        <Text size="xs" mt="xs">
          {t.common.requestId}: <Code>{requestId}</Code>
        </Text>
      )}
      <Button size="xs" variant="default" mt="sm" onClick={() => retry()}>
        {t.common.retry}
      </Button>
    </Alert>
  )
}

/** What the person's role does not allow, and whose does. */
function Forbidden({ action, detail }: { action: ActionId; detail?: string }) {
  const t = useTexts()
  const roles = actions[action].roles.map((role) => t.roles[role]).join(', ')
  return (
    <Alert color="yellow" title={t.states.forbidden}>
      <Text size="sm">{t.states.forbiddenRoles(roles)}</Text>
      {detail !== undefined && <Text size="sm">{detail}</Text>}
    </Alert>
  )
}

/** Too many requests: counts down, then repeats. */
function Limited({ seconds, retry }: { seconds: number; retry: () => unknown }) {
  const t = useTexts()
  const [left, setLeft] = useState(seconds)
  useEffect(() => {
    const timer = setTimeout(() => (left > 1 ? setLeft(left - 1) : retry()), 1_000)
    return () => clearTimeout(timer)
  }, [left, retry])
  return <Alert color="yellow">{t.states.limited(left)}</Alert>
}

/** Nothing is there: why, and what to do about it. */
export function Empty({ text, children }: { text: string; children?: ReactNode }) {
  return (
    <Group className="empty" justify="center" p="xl">
      <Stack align="center" gap="sm">
        <Text c="dimmed">{text}</Text>
        {children}
      </Stack>
    </Group>
  )
}
