import { Alert, Button, Group, Text } from '@mantine/core'
import { needsSignIn } from '../../api/problem.ts'
import { signIn } from '../../api/session.tsx'
import { useTexts } from '../../texts/settings.tsx'

interface RefusalProps {
  readonly error: Error | null
}

/** Why a form was refused; where a recent sign-in is missing, the way to it. */
export function Refusal({ error }: RefusalProps) {
  const t = useTexts()
  if (error === null) return null
  if (!needsSignIn(error))
    return (
      <Alert color="red" role="alert">
        {error.message}
      </Alert>
    )
  return (
    <Alert role="alert">
      <Group justify="space-between">
        <Text size="sm">{t.confirm.againKept}</Text>
        <Button type="button" size="xs" onClick={() => signIn(true)}>
          {t.confirm.again}
        </Button>
      </Group>
    </Alert>
  )
}
