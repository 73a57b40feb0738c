import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { ChatAnthropic } from '@langchain/anthropic';
import Anthropic0 from 'anthropic-sdk-0x';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOnUpstream } from '../fixtures/gateway/start-on-upstream.ts';
import { temporaryFolder } from '../fixtures/temporary-folder.ts';
import { failure, stream } from '../upstream/answer.ts';
import { oneChunk } from '../upstream/rechunk.ts';
import { TORN_STREAMS } from '../upstream/torn-streams.ts';
import { fetchedClient } from './fetched-clients.ts';
import { type ClientRun, runClient } from './run-client.ts';

/** What the real SDKs raise of a stream that its provider has torn: their error of the API, wherever that was. */
const { upstream, gateway } = await startOnUpstream(afterAll);
const WHERE = [...TORN_STREAMS.keys()];
const asking = (where: string) => ({
  model: 'opal-medium',
  max_tokens: 256,
  messages: [{ role: 'user' as const, content: where }],
});

beforeAll(() =>
  upstream.answerWith(({ body }) => {
    const { messages } = JSON.parse(String(body));
    const asked = [messages[0].content].flat().map((part) => part.text ?? part);
    const torn = TORN_STREAMS.get(asked.join(''));
    return torn === undefined ? failure(404) : stream(oneChunk([torn]));
  }),
);

const SAID = /the upstream ended the answer before it was complete/;

describe.each([
  ['@anthropic-ai/sdk, current', Anthropic as unknown as typeof Anthropic0],
  ['@anthropic-ai/sdk, last 0.x', Anthropic0],
])('%s', (_name, Sdk) => {
  const client = () => new Sdk({ baseURL: gateway.url, apiKey: gateway.key, maxRetries: 0 });

  it.each(WHERE)('raises an APIError: %s', async (where) => {
    const error = await client()
      .messages.stream(asking(where))
      .finalMessage()
      .catch((raised: unknown) => raised);
    expect(error).toBeInstanceOf(Sdk.APIError);
    expect(String((error as Error).message)).toMatch(SAID);
  });
});

describe('@langchain/anthropic', () => {
  it.each(WHERE)('raises the APIError of its SDK: %s', async (where) => {
    const chat = new ChatAnthropic({
      model: 'opal-medium',
      anthropicApiUrl: gateway.url,
      apiKey: gateway.key,
      maxTokens: 256,
      maxRetries: 0,
    });
    const read = async (): Promise<void> => {
      for await (const _chunk of await chat.stream(where));
    };
    await expect(read()).rejects.toThrow(SAID);
  });
});

const PYTHON = `
import anthropic, json, sys
client = anthropic.Anthropic(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
for where in sys.argv[3:]:
    try:
        with client.messages.stream(
            model="opal-medium", max_tokens=256, messages=[{"role": "user", "content": where}]
        ) as stream:
            for text in stream.text_stream:
                pass
        print(json.dumps([where, "complete"]))
    except anthropic.APIError as error:
        print(json.dumps([where, type(error).__name__, str(error)]))
    except Exception as error:
        print(json.dumps([where, "no APIError: " + repr(error)]))
`;

const GO = `package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
)

func main() {
	client := anthropic.NewClient(option.WithBaseURL(os.Args[1]), option.WithAPIKey(os.Args[2]), option.WithMaxRetries(0))
	for _, where := range os.Args[3:] {
		stream := client.Messages.NewStreaming(context.Background(), anthropic.MessageNewParams{
			Model:     "opal-medium",
			MaxTokens: 256,
			Messages:  []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(where))},
		})
		for stream.Next() {
		}
		said := []string{where, "complete"}
		if stream.Err() != nil {
			said = []string{where, fmt.Sprintf("%T", stream.Err()), stream.Err().Error()}
		}
		line, _ := json.Marshal(said)
		fmt.Println(string(line))
	}
}
`;

const JAVA = `
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.errors.AnthropicException;
import com.anthropic.models.messages.MessageCreateParams;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;

public class Torn {
    public static void main(String[] arguments) throws Exception {
        var client = AnthropicOkHttpClient.builder().baseUrl(arguments[0]).apiKey(arguments[1]).maxRetries(0).build();
        for (int at = 2; at < arguments.length; at++) {
            var asked = MessageCreateParams.builder().model("opal-medium").maxTokens(256L).addUserMessage(arguments[at]);
            var said = List.of(arguments[at], "complete");
            try (var stream = client.messages().createStreaming(asked.build())) {
                stream.stream().forEach(event -> {});
            } catch (RuntimeException error) {
                said = List.of(arguments[at], error.getClass().getSimpleName(), String.valueOf(error.getMessage()));
            }
            System.out.println(new ObjectMapper().writeValueAsString(said));
        }
        System.exit(0);
    }
}
`;

const written = (name: string, content: string): string => {
  const file = join(temporaryFolder(), name);
  writeFileSync(file, content);
  return file;
};

const python = fetchedClient('python');
const java = fetchedClient('java');
const go = fetchedClient('go');
const args = () => [gateway.url, gateway.key, ...WHERE];

describe('the SDK of another language, once for all places', () => {
  const CLIENTS: readonly [string, string | null, () => ClientRun, string][] = [
    [
      'Python',
      python,
      () => ({ command: join(python ?? '', 'venv/bin/python'), arguments: ['-', ...args()], input: PYTHON }),
      'APIStatusError',
    ],
    [
      'Go',
      go,
      () => ({
        command: 'go',
        arguments: ['run', written('main.go', GO), ...args()],
        cwd: go ?? '',
        environment: { GOPROXY: 'off', GOFLAGS: '-mod=mod' },
      }),
      '*apierror.Error',
    ],
    [
      'Java',
      java,
      () => ({ command: 'java', arguments: ['-cp', join(java ?? '', 'lib/*'), written('Torn.java', JAVA), ...args()] }),
      'SseException',
    ],
  ];
  // Java's shows of the error's data only what is JSON before the tear.
  const saidBy = (language: string) => (language === 'Java' ? expect.any(String) : expect.stringMatching(SAID));
  for (const [language, folder, runOf, raised] of CLIENTS)
    it.skipIf(folder === null)(folder === null ? `${language} (npm run clients fetches it)` : language, async () => {
      const printed = (await runClient(runOf()))
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(printed).toEqual(WHERE.map((where) => [where, raised, saidBy(language)]));
    });
});
