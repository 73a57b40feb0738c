import type { IncomingHttpHeaders } from 'node:http';
import {
  type Attributes,
  type Context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type Sampler,
  SamplingDecision,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Logger } from 'pino';
import type { Configuration } from '../../contracts/configuration.ts';
import { ERROR_TABLE } from '../../contracts/errors.ts';
import { formatExactUsd } from '../../contracts/money.ts';
import { within } from '../../ledger/within.ts';
import type { ObservedRequest, RequestSpans } from './observed-request.ts';
import { type TraceContext, traceContextOf } from './trace-context.ts';
import type { Tracing } from './tracing.ts';

/** Ended, and not taken yet by whom they are sent to: some megabytes. */
const WAITING_SPANS_MAX = 4_096;
const BATCH_SPANS = 512;
const BATCH_MS = 1_000;
/** One batch at a time is on its way, for so long with all that is tried again. */
const EXPORT_MS_MAX = 10_000;
/** The stop of a gateway waits no longer for whoever takes spans. */
const CLOSE_MS_MAX = 2_000;

/** Spans by OpenTelemetry's own SDK, sent in batches by OTLP over HTTP. Nothing of it is global. */
export class OtlpTracing implements Tracing {
  readonly #provider: TracerProvider;
  readonly #tracer: Tracer;
  readonly #waiting: WaitingSpans;

  constructor({ otlpUrl, ratio }: NonNullable<Configuration['tracing']>, logger: Logger) {
    this.#waiting = new WaitingSpans(new OTLPTraceExporter({ url: otlpUrl, timeoutMillis: EXPORT_MS_MAX }), logger);
    const own = new OwnShare(ratio);
    this.#provider = new TracerProvider({
      resource: resourceFromAttributes({ 'service.name': 'model-gateway' }),
      sampler: new ParentBasedSampler({ root: own, remoteParentSampled: own, remoteParentNotSampled: own }),
      spanProcessors: [this.#waiting],
    });
    this.#tracer = this.#provider.getTracer('model-gateway');
  }

  get lost(): number {
    return this.#waiting.lost;
  }

  begin(headers: IncomingHttpHeaders): RequestSpans {
    return new OtlpRequestSpans(this.#tracer, parentOf(traceContextOf(headers)));
  }

  /** @throws Error where what waits cannot be sent */
  async close(): Promise<void> {
    await within(CLOSE_MS_MAX, this.#provider.shutdown());
  }
}

/**
 * So many of all requests. What a caller says of its trace is not asked, its id neither: whoever can send a request, with a key
 * or without, could have all of its spans kept, and those of others lost.
 */
class OwnShare implements Sampler {
  readonly #ratio: number;

  constructor(ratio: number) {
    this.#ratio = ratio;
  }

  shouldSample() {
    return {
      decision: Math.random() < this.#ratio ? SamplingDecision.RECORD_AND_SAMPLED : SamplingDecision.NOT_RECORD,
    };
  }

  toString(): string {
    return `OwnShare{${this.#ratio}}`;
  }
}

class OtlpRequestSpans implements RequestSpans {
  readonly #tracer: Tracer;
  readonly #span: Span;
  #call: Span | null = null;
  /** Of the call; null while it is under way. By `performance.now()`, as the SDK takes it. */
  #callEndedMs: number | null = null;

  constructor(tracer: Tracer, parent: Context) {
    this.#tracer = tracer;
    this.#span = tracer.startSpan('request', { kind: SpanKind.SERVER }, parent);
  }

  call(upstream: string, model: string): TraceContext {
    this.#endCall();
    this.#call = this.#tracer.startSpan(
      `chat ${model}`,
      {
        kind: SpanKind.CLIENT,
        attributes: {
          'gen_ai.operation.name': 'chat',
          'gen_ai.provider.name': upstream,
          'gen_ai.request.model': model,
        },
      },
      trace.setSpan(ROOT_CONTEXT, this.#span),
    );
    this.#callEndedMs = null;
    return contextOf(this.#call);
  }

  callFailed(why: string): void {
    this.#call?.setAttribute('error.type', why);
    this.#call?.setStatus({ code: SpanStatusCode.ERROR });
  }

  callEnded(): void {
    this.#callEndedMs ??= performance.now();
  }

  ended(observed: ObservedRequest, status: number): void {
    this.#call?.setAttributes(usageAttributes(observed));
    this.#endCall();
    const { method, route } = observed;
    this.#span.updateName(route === undefined ? method : `${method} ${route}`);
    this.#span.setAttributes(requestAttributes(observed, status));
    // What a caller has done wrong is no error of a server (HTTP conventions). An answer that was cut has the status that it began with.
    const { code } = observed;
    if ((code === null ? status : ERROR_TABLE[code].status) >= 500)
      this.#span.setStatus({ code: SpanStatusCode.ERROR });
    this.#span.end();
  }

  #endCall(): void {
    this.#call?.end(this.#callEndedMs ?? undefined);
    this.#call = null;
  }
}

/** What is sent with what comes below this span. */
function contextOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const flags = (traceFlags & TraceFlags.SAMPLED) === 0 ? '00' : '01';
  return { traceparent: `00-${traceId}-${spanId}-${flags}`, tracestate: traceState?.serialize() ?? null };
}

function parentOf(context: TraceContext | null): Context {
  if (context === null) return ROOT_CONTEXT;
  const [, traceId = '', spanId = '', flags = ''] = context.traceparent.split('-');
  return trace.setSpanContext(ROOT_CONTEXT, {
    ...{ traceId, spanId, isRemote: true, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED },
    ...(context.tracestate === null ? {} : { traceState: createTraceState(context.tracestate) }),
  });
}

/** By the conventions all kinds of input are in `input_tokens`. */
function usageAttributes({ ending, calledMs, firstByteMs }: ObservedRequest): Attributes {
  if (ending === null) return {};
  const { input, output, cacheRead, cacheWrite5m, cacheWrite1h } = ending.tokens;
  return {
    'gen_ai.usage.input_tokens': input + cacheRead + cacheWrite5m + cacheWrite1h,
    'gen_ai.usage.output_tokens': output,
    'gen_ai.usage.cache_read.input_tokens': cacheRead,
    'gen_ai.usage.cache_creation.input_tokens': cacheWrite5m + cacheWrite1h,
    ...(firstByteMs === 0 ? {} : { 'gen_ai.response.time_to_first_chunk': (firstByteMs - calledMs) / 1_000 }),
  };
}

function requestAttributes(observed: ObservedRequest, status: number): Attributes {
  const { requestId, method, route, owner, code, model, ending, cost } = observed;
  return {
    'http.request.method': method,
    'http.response.status_code': status,
    'http.route': route,
    'error.type': code ?? undefined,
    'gen_ai.request.model': model ?? undefined,
    'gateway.request.id': requestId,
    'gateway.account.id': owner?.accountId,
    'gateway.key.id': owner?.keyId,
    'gateway.outcome': ending?.outcome,
    'gateway.cost_usd': cost === null ? undefined : formatExactUsd(cost),
  };
}

/** A bound on all that waits, what is on its way included, with a count of what is lost; an outage is told once. */
class WaitingSpans implements SpanProcessor {
  readonly #batches: BatchSpanProcessor;
  #waiting = 0;
  #isAway = false;
  lost = 0;

  constructor(exporter: SpanExporter, logger: Logger) {
    this.#batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) =>
          exporter.export(spans, (result) => {
            this.#exported(spans.length, result.error ?? null, logger);
            done(result);
          }),
        shutdown: () => exporter.shutdown(),
      },
      ...{ maxQueueSize: WAITING_SPANS_MAX, maxExportBatchSize: BATCH_SPANS },
      ...{ scheduledDelayMillis: BATCH_MS, exportTimeoutMillis: 2 * EXPORT_MS_MAX },
    });
  }

  onStart(): void {
    // Only spans that have ended are kept.
  }

  onEnd(span: ReadableSpan): void {
    if (this.#waiting >= WAITING_SPANS_MAX) {
      this.lost++;
      return;
    }
    this.#waiting++;
    this.#batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.#batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.#batches.shutdown();
  }

  #exported(count: number, error: Error | null, logger: Logger): void {
    this.#waiting -= count;
    if (error !== null) this.lost += count;
    if ((error !== null) === this.#isAway) return;
    this.#isAway = error !== null;
    if (error === null) logger.info('spans are taken again');
    else logger.warn({ reason: error.message }, 'spans are lost: nobody takes them');
  }
}
