// Copyright The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc/encoding"
)

// compressorName is what both ends write into the header grpc-encoding.
const compressorName = "zstd"

// maxWindow bounds what a decoder allocates for one message, whatever its header asks for. With the limit of gRPC on the
// decoded size, a few bytes that unfold to gigabytes cost a member its session and the hub nothing.
const maxWindow = 8 << 20

func init() { encoding.RegisterCompressor(newCompressor()) }

// compressor is zstd for gRPC. Encoders and decoders are kept for reuse: each costs far more to make than to reset.
type compressor struct {
	encoders sync.Pool
	decoders sync.Pool
}

func newCompressor() *compressor { return &compressor{} }

// Name implements encoding.Compressor.
func (*compressor) Name() string { return compressorName }

// Compress implements encoding.Compressor.
func (c *compressor) Compress(w io.Writer) (io.WriteCloser, error) {
	e, ok := c.encoders.Get().(*zstd.Encoder)
	if ok {
		e.Reset(w)
		return &pooledEncoder{Encoder: e, pool: &c.encoders}, nil
	}
	e, err := zstd.NewWriter(w,
		zstd.WithEncoderConcurrency(1), // Synchronous: no goroutine outlives a message.
		zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithWindowSize(maxMessageBytes),
		zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("zstd encoder: %w", err)
	}
	return &pooledEncoder{Encoder: e, pool: &c.encoders}, nil
}

type pooledEncoder struct {
	*zstd.Encoder
	pool *sync.Pool
}

// Close ends the message and gives the encoder back. It must be called once, as gRPC does.
func (e *pooledEncoder) Close() error {
	err := e.Encoder.Close()
	e.pool.Put(e.Encoder)
	return err
}

// Decompress implements encoding.Compressor.
func (c *compressor) Decompress(r io.Reader) (io.Reader, error) {
	d, ok := c.decoders.Get().(*zstd.Decoder)
	if ok {
		if err := d.Reset(r); err != nil {
			return nil, fmt.Errorf("zstd decoder: %w", err)
		}
		return &pooledDecoder{decoder: d, pool: &c.decoders}, nil
	}
	d, err := zstd.NewReader(r,
		zstd.WithDecoderConcurrency(1), // Synchronous: no goroutine outlives a message.
		zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderMaxMemory(4*maxMessageBytes))
	if err != nil {
		return nil, fmt.Errorf("zstd decoder: %w", err)
	}
	return &pooledDecoder{decoder: d, pool: &c.decoders}, nil
}

// pooledDecoder reads one message. It gives its decoder back at the end of the message and is empty from then on, since
// gRPC may ask once more to see that nothing follows; by then the decoder may be another message's.
type pooledDecoder struct {
	decoder *zstd.Decoder
	pool    *sync.Pool
}

func (d *pooledDecoder) Read(p []byte) (int, error) {
	if d.decoder == nil {
		return 0, io.EOF
	}
	n, err := d.decoder.Read(p)
	if errors.Is(err, io.EOF) {
		d.pool.Put(d.decoder)
		d.decoder = nil
	}
	return n, err
}
